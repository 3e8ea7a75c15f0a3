#!/usr/bin/env bash
# Builds bench_histogram and one shared library a submission, then runs it: see reference/tools/bench.bash.
# Without submissions: naive, the steps, the optimized solution and, where it is timed, CUB's.
#
#   bench.sh BUILD_DIR placement [ids] [repetitions]      naive's time by the place of its counters: placement.cu
set -euo pipefail
# shellcheck source=../../tools/bench.bash
source "$(dirname "$0")/../../tools/bench.bash"
if [[ ${2:-} == placement ]]; then
  lab=$(cd "$(dirname "$0")/.." && pwd) arch=${ARCH:-90}
  mkdir -p "$1"
  compile_with_nvcc "$1/placement" -std=c++20 -O3 -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -no-compress -lineinfo \
    -cudart shared -I "$lab/../include" -I "$lab/.." "$lab/tools/placement.cu"
  [[ -n ${BENCH_BUILD_ONLY:-} ]] || "$1/placement" "${@:3}"
  exit
fi
read_bench_arguments "$@"
if ((${#submissions[@]} == 0)); then
  mapfile -t submissions < <(staff_solutions)
  [[ $mode == check ]] || submissions+=(cub=vendor/cub)
fi
build_and_run_bench oracle.cpp
