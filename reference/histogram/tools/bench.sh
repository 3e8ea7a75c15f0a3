#!/usr/bin/env bash
# Builds bench_histogram and one shared library a submission, then runs it: see reference/tools/bench.bash.
# Without submissions: naive, the steps, the optimized solution and, where it is timed, CUB's.
set -euo pipefail
# shellcheck source=../../tools/bench.bash
source "$(dirname "$0")/../../tools/bench.bash"
read_bench_arguments "$@"
if ((${#submissions[@]} == 0)); then
  mapfile -t submissions < <(staff_solutions)
  [[ $mode == check ]] || submissions+=(cub=vendor/cub)
fi
build_and_run_bench oracle.cpp
