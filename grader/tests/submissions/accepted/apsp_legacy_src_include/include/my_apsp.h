#pragma once
#include "apsp.h"
#include "cuda_utils.h"
constexpr int kThreads = 128;
