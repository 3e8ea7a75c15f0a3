#!/usr/bin/env bash
# Why a solution takes another time through the executor than natively: one possible reason a line. Needs a GPU and nvcc.
#   grader/judge/executor/tests/gpu/differences.sh             builds (about 40 s on 16 cores), then measures (below 60 s)
#   BUILD_ONLY=1 .../differences.sh                      builds; the next call with the same $WORK finds it built
#   ROUNDS=4 LIMIT=60 ...                                rounds of each variant, seconds for all of its solutions
#   NAMES='apsp/steps/06_hoisted_indices ...'            part 2 alone, with these solutions, named by folder below reference/
# Everything goes to $OUT (or ./executor-gpu): differences.txt is the table. There is no bar: the exit code says whether all ran.
#
# Known: with device code that is loaded at its first use, and with runs of both kinds apart (fidelity.cpp), no solution differs by more than
# 1 % or 0.5 us (reports/published/h100/benches/fidelity.txt and fidelity-order.txt). When the executor loaded all
# code at once, optimized and 04_row_split took 2 to 3 us less through it, and when the order of the runs was mixed, the steps of apsp did.
# So this script is for the next difference: it says what the difference depends on.
#
# Part 1, pieces: a run of one simple kernel, and what those solutions do besides, one thing each. The piece in which native and executor
# part names the cause: 1 a kernel in the plan, 2 and 3 an array of the plan's, 4 scratch memory freed in the plan, 5 and 7 the memset, 6 two kernels.
# Part 2, variants: 04_row_split, optimized and, where nothing differs, 03_column_groups. What a variant says when it removes the difference:
#   native lazy        how device code is loaded and where it lies decides; executor lazy is the other way round. Baselines load lazily,
#                      so that this would be of use in the judge: a runner then needs EAGER as well
#   gate_first         the order in which the gate's kernels and streams and the module came into the context
#   pinned             that the executor has registered host memory
#   no_helper          the native side's second thread, which looks whether the gate must be opened
#   connections        which hardware queue a stream was given (1: all share one; 32: each has its own)
# all_of_them together is the native side made as like the executor as these words go. When that does not help either, what remains is the way
# of a launch: cudaLaunchKernel of NVIDIA's runtime against cuLaunchKernel on a function of cuLibraryLoadData.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../../.." && pwd)
export OUT=${OUT:-$PWD/executor-gpu} WORK=${WORK:-/tmp/warpgrade-executor-gpu}
cuda=${CUDA_HOME:-/usr/local/cuda}
arch=${ARCH:-90}
names=${NAMES:-spmm/steps/04_row_split spmm/optimized spmm/steps/03_column_groups}
mkdir -p "$OUT"
table=$OUT/differences.txt
pieces="0 1 2 3 4 5 6 7"
[[ -z ${NAMES:-} ]] || pieces=
parts=10

build_piece() {  # NUMBER
  "$cuda/bin/nvcc" -std=c++20 -O3 -cudart shared -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -DLAB_SPMM -DPIECE="$1" \
    -I "$root/grader" -I "$root/reference/include" -o "$WORK/solutions/piece-$1" "$here/fidelity_solution.cu" "$here/fidelity_pieces.cu" \
    "$WORK/unit-judge_executor_driver_timing_gate.cpp.o" "$WORK/unit-judge_executor_driver_driver_api.cpp.o" "$WORK/timing.o" -ldl
}
if [[ ! -x $WORK/fidelity || (-n $pieces && ! -x $WORK/solutions/piece-7) || -n ${BUILD_ONLY:-} ]]; then
  BUILD_ONLY=1 SOLUTIONS=$names "$here/fidelity.sh" || exit 1
  export -f build_piece
  export root here cuda arch
  # shellcheck disable=SC2086 # words
  [[ -z $pieces ]] || printf '%s\n' $pieces | xargs -P "$(nproc)" -I{} bash -c 'build_piece {}' || exit 1
fi
[[ -z ${BUILD_ONLY:-} ]] || exit 0

export LD_LIBRARY_PATH=$cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} FIDELITY_CASE=1 FIDELITY_ROUNDS=${ROUNDS:-2}
: >"$table"
{ date -u; nvidia-smi -L; nvidia-smi --query-gpu=driver_version,clocks.sm --format=csv,noheader; } 2>&1 | tee -a "$table"
begin=$SECONDS
missing=0
measure() {  # TITLE NAME=PROGRAM ...
  local title=$1 lines
  shift
  lines=$(timeout "${LIMIT:-20}" "$WORK/fidelity" "$WORK" "$@" 2>&1 | grep '^fidelity .* [0-9] ')
  [[ $(grep -c ratio <<<"$lines") -eq $# ]] || missing=$((missing + 1))
  sed "s/^fidelity /$(printf '%-18s' "$title")/" <<<"$lines" | tee -a "$table"
}
all=()
for piece in $pieces; do all+=("piece-$piece=$WORK/solutions/piece-$piece"); done
if [[ -n $pieces ]]; then measure pieces "${all[@]}"; else parts=9; fi
all=()
for name in $names; do all+=("$name=$WORK/solutions/${name//\//.}"); done
measure "as it is" "${all[@]}"
FIDELITY_NATIVE_LOADING=LAZY measure "native lazy" "${all[@]}"
FIDELITY_EXECUTOR_LOADING=LAZY FIDELITY_NATIVE_LOADING=EAGER measure "executor lazy" "${all[@]}"
FIDELITY_NATIVE=gate_first measure gate_first "${all[@]}"
FIDELITY_NATIVE=pinned measure pinned "${all[@]}"
FIDELITY_NATIVE=no_helper measure no_helper "${all[@]}"
FIDELITY_NATIVE_CONNECTIONS=1 measure "connections 1" "${all[@]}"
FIDELITY_NATIVE_CONNECTIONS=32 measure "connections 32" "${all[@]}"
FIDELITY_NATIVE='gate_first pinned no_helper' measure all_of_them "${all[@]}"
echo "$((SECONDS - begin)) s, $missing of $parts parts incomplete" | tee -a "$table"
[[ $missing -eq 0 ]]
