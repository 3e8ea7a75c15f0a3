#!/usr/bin/env bash
# Builds bench_apsp and one shared library a submission, then runs it: see reference/tools/bench.bash.
# Without submissions: naive, the steps and the optimized solution.
set -euo pipefail
# shellcheck source=../../tools/bench.bash
source "$(dirname "$0")/../../tools/bench.bash"
read_bench_arguments "$@"
((${#submissions[@]})) || mapfile -t submissions < <(staff_solutions)
build_and_run_bench oracle.cpp
