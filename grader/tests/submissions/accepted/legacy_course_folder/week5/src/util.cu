// clang-format off
#include "../include/util.h"
int kNumV = -1, kNumE = -1, kLen = 0;
curandGenerator_t kCuRand;
void argParse(int, char **) { curandCreateGenerator(&kCuRand, CURAND_RNG_PSEUDO_DEFAULT); }
