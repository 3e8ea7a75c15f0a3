// clang-format off
// In the manner of a course's own: a vendor's library, globals that util.cu defines, the command line.
#ifndef UTIL_H
#define UTIL_H
#include <curand.h>
#include <string>
#include <vector>
#include "args.hxx"
using namespace std;
extern int kNumV, kNumE, kLen;
extern curandGenerator_t kCuRand;
void argParse(int argc, char **argv);
#define CEIL(a, b) (((a) + (b) - 1) / (b))
struct CSR
{
    CSR(int v, int e, int *p, int *i, float *x) : num_v(v), num_e(e), ptr(p), idx(i), val(x) {}
    int num_v, num_e;
    int *ptr, *idx;
    float *val;
};
#endif
