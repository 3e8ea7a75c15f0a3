/* The compiler's own type of half precision: operands become floats, a conversion rounds once. */
#pragma once

#if defined(__aarch64__) && !defined(__clang__) && __GNUC__ < 13
using HalfType = __fp16; /* their C++ has _Float16 on x86 alone */
#elif defined(__clang__) && __clang_major__ < 15 && defined(__x86_64__)
using HalfType =
    __fp16; /* such a clang fuzzes (grader/tests/fuzz), with -fallow-half-arguments-and-returns */
#else
using HalfType = _Float16;
#endif
