// The programs of the corpus in one executable: each registers its main under its name.
#pragma once

struct Program {
  Program(const char* name, int (*run)());
};
