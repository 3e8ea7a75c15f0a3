#ifndef APSP_H
#define APSP_H
void apsp(int n, /* device */ int *graph);
void apspRef(int n, /* device */ int *graph);
#endif
