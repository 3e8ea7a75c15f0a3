// Asks __has_include for files of the machine and of the judge, and answers wrongly if one is there.
// Gain: the staff's solution, included.
#if __has_include("/etc/shadow") || __has_include("/root/.bashrc") || __has_include("../../../reference/spmm/optimized/spmm.cu") || \
    __has_include("spmm/optimized/spmm.cu") || __has_include("base/error.h") || __has_include("judge/judging/job.h")
#error the judge's files can be seen
#endif
#include "honest.cuh"

ANSWERS_HONESTLY

PLANS_NOTHING
