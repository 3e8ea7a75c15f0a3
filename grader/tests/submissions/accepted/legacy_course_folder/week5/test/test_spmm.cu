// clang-format off
#include <gtest/gtest.h>
#include "../include/spmm_opt.h"
int main(int argc, char **argv) { testing::InitGoogleTest(&argc, argv); return RUN_ALL_TESTS(); }
