#!/usr/bin/env bash
# Builds bench_sampling and one shared library a submission, then runs it: see reference/tools/bench.bash.
# Without submissions: naive, the steps, the optimized solution and, where it is timed, cuRAND's. CURAND_FLAGS: where
# cuRAND lives.
set -euo pipefail
# shellcheck source=../../tools/bench.bash
source "$(dirname "$0")/../../tools/bench.bash"
read_bench_arguments "$@"
read -r -a vendor_flags <<<"${CURAND_FLAGS:-} -lcurand"
if ((${#submissions[@]} == 0)); then
  mapfile -t submissions < <(staff_solutions)
  [[ $mode == check ]] || submissions+=(curand=vendor/curand)
fi
build_and_run_bench oracle.cpp statistics.cpp spectrum.cpp far.cpp
