// a program would lie here
