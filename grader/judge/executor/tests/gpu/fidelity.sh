#!/usr/bin/env bash
# Whether the executor changes what it measures: one run on this machine's GPU tells everything. Natively and through the
# executor, in turns: the test programs (exit codes, output), what calls cost, and every lab's naive and optimized
# solution, ladder step and accepted fixture (medians of timed runs, time of the plan, bytes of the output).
#   grader/judge/executor/tests/gpu/fidelity.sh [lab ...]       default: spmm apsp histogram gcn sampling
# Everything goes to $OUT (or ./executor-gpu): fidelity.txt is the table. Exit code 0: all is within the bars
#   medians within 1 % or 0.5 us of the native ones, of runs behind the other program's and of runs behind its own, a plan within
#   1.3 times native + 5 ms, launches at 0.95 of the native rate, a call within 3 us, a host process ready within 10 ms, test
#   programs equal.
# BUILD_ONLY=1: nothing is run; RUN_ONLY=1: nothing is built, for the call after that one. LIMIT: seconds for the solutions.
# SOLUTIONS='spmm/optimized ...': these alone, named by folder below reference/ or the fixtures.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../../.." && pwd)
out=${OUT:-$PWD/executor-gpu}
work=${WORK:-/tmp/warpgrade-executor-gpu}
cuda=${CUDA_HOME:-/usr/local/cuda}
arch=${ARCH:-90}
labs=("$@")
[[ ${#labs[@]} -gt 0 ]] || labs=(spmm apsp histogram gcn sampling)
fixtures="apsp_repeated_squaring float4_tiles naive_copy host_thread gcn_aggregates_first gcn_one_kernel
  histogram_match_any sampling_curand_device sampling_splitmix"
mkdir -p "$out" "$work/solutions"
table=$out/fidelity.txt
log=$out/fidelity.log
: >"$table"; : >"$log"
bad=0
say() { echo "$*" | tee -a "$table"; }

# NAME FOLDER of every solution.
solutions() {
  local lab folder f
  if [[ -n ${SOLUTIONS:-} ]]; then
    for f in $SOLUTIONS; do
      [[ -d $root/reference/$f ]] && echo "${f%%/*} $f $root/reference/$f" || echo "$(lab_of "$f") $f $root/grader/tests/submissions/accepted/$f"
    done
    return
  fi
  for lab in "${labs[@]}"; do
    for folder in "$root/reference/$lab"/{naive,optimized,steps/*,vendor/*}; do
      [[ $folder == */vendor/* && $(grep -lE 'cublas|cusparse|curand\.h' "$folder"/*.cu* 2>/dev/null) ]] && continue
      compgen -G "$folder/*.cu" >/dev/null && echo "$lab $lab/${folder#"$root/reference/$lab/"} $folder"
    done
    for f in $fixtures; do [[ $(lab_of "$f") == "$lab" ]] && echo "$lab $f $root/grader/tests/submissions/accepted/$f"; done
  done
}
lab_of() {
  local lab
  for lab in apsp histogram gcn sampling; do [[ $1 == "$lab"* ]] && { echo "$lab"; return; }; done
  echo spmm
}

build_solution() {  # LAB NAME FOLDER
  local target=$work/solutions/${2//\//.} lab=${1^^} sources
  sources=$(ls "$3"/*.cu)
  "$cuda/bin/nvcc" -std=c++20 -O3 -cudart shared -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -DLAB_"$lab" \
    -I "$root/grader" -I "$root/reference/include" -I "$root/reference/$1" -I "$3" -o "$target" \
    "$here/fidelity_solution.cu" $sources "$work/unit-judge_executor_driver_timing_gate.cpp.o" \
    "$work/unit-judge_executor_driver_driver_api.cpp.o" "$work/timing.o" -ldl >"$target.log" 2>&1 ||
    { echo "not built: $2"; tail -3 "$target.log"; }
}

build_everything() {
  if ! OUT=$out WORK=$work "$here/run.sh" build programs >>"$log" 2>&1 || [[ ! -x $work/warpgrade-executor ]]; then
    say "the executor was not built: $log"
    exit 1
  fi
  mapfile -t units < <(printf '%s\n' "$work"/unit-judge_executor_*.o | grep -vE 'forwarding|executor_main|executor_judge_')
  g++ -std=c++20 -O2 -I "$root/grader" -isystem "$cuda/include" -o "$work/fidelity" "$here/fidelity.cpp" \
    "${units[@]}" "$work/timing.o" "$work/unit-cudart_fat_binary.cpp.o" \
    "$work/unit-cudart_error_text.cpp.o" -lpthread -ldl >>"$log" 2>&1 || { say "fidelity was not built: $log"; exit 1; }
  export -f build_solution
  export root work here cuda arch
  solutions >"$work/solutions.txt"
  xargs -P "$(nproc)" -L1 bash -c 'build_solution "$0" "$1" "$2"' <"$work/solutions.txt" | tee -a "$table"
}
[[ -n ${RUN_ONLY:-} ]] || build_everything
[[ -z ${BUILD_ONLY:-} ]] || exit 0

{ date -u; nvidia-smi -L; nvidia-smi --query-gpu=driver_version,clocks.sm --format=csv,noheader; uname -r; nproc; } 2>&1 | tee -a "$table"
export LD_LIBRARY_PATH=$cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# --- programs and features ---
OUT=$out WORK=$work timeout 200 "$here/run.sh" features 2>&1 | grep -E '^feature|^   \|' | tee -a "$table"
differ=$(grep -c '^feature.*DIFFERS' "$table")
say "programs: $differ differ in their exit code"
((bad += differ))

# --- calls: native and executor in turns, the best of each of three ---
for turn in 1 2 3; do
  timeout 60 "$work/programs/call_costs" >"$work/costs-native-$turn.txt" 2>&1
  timeout 60 "$work/warpgrade-executor" --backend gpu --figures -- "$work/programs/call_costs" >"$work/costs-executor-$turn.txt" 2>&1
done
best() { cat "$work/costs-$1-"?.txt | grep -F "$2" | sed -E "$3" | sort -n$4 | head -1; }
native=$(best native 'launches:' 's/.*launches: ([0-9]+) a second.*/\1/' r)
forwarded=$(best executor 'launches:' 's/.*launches: ([0-9]+) a second.*/\1/' r)
ping=$(best executor 'a call that does nothing' 's/.*nothing +([0-9.]+) us.*/\1/' '')
ready=$(best executor 'ms from the start' 's/.* ([0-9.]+) ms from the start.*/\1/' r)
judge() {  # TEXT CONDITION
  if awk "BEGIN { exit !($2) }" 2>/dev/null; then say "$1 ok"; else say "$1 NOT WITHIN THE BAR"; bad=$((bad + 1)); fi
}
judge "launches a second: native ${native:-0}, executor ${forwarded:-0}, ratio $(awk "BEGIN { printf \"%.3f\", ${forwarded:-0} / (${native:-1} + 0) }") (bar 0.95):" \
  "${forwarded:-0} >= 0.95 * ${native:-1}"
judge "a call that does nothing: ${ping:-none} us (bar 3):" "${ping:-99} <= 3"
judge "host process ready: ${ready:-none} ms, the slowest of three (bar 10):" "${ready:-99} <= 10"
{ grep '^cost' "$work/costs-native-1.txt" | sed 's/^/native /'; grep '^cost' "$work/costs-executor-1.txt" | sed 's/^/executor /'; } >>"$table"

# --- graphs, clusters, cooperative and programmatic launches ---
if [[ -x $work/programs/launch_kinds ]]; then
  timeout 60 "$work/programs/launch_kinds" >"$work/kinds-native.txt" 2>&1; a=$?
  timeout 60 "$work/warpgrade-executor" --backend gpu -- "$work/programs/launch_kinds" >"$work/kinds-executor.txt" 2>&1; b=$?
  paste "$work/kinds-native.txt" <(sed 's/^.*: //' "$work/kinds-executor.txt") | sed 's/^/kind /' | tee -a "$table"
  judge "kinds of launches: exit code $a natively, $b through the executor:" "$a == 0 && $b == 0"
fi

# --- solutions ---
arguments=()
while read -r _ name _; do
  program=$work/solutions/${name//\//.}
  if [[ -x $program ]]; then arguments+=("$name=$program"); else bad=$((bad + 1)); say "fidelity $name: not built"; fi
done <"$work/solutions.txt"
timeout "${LIMIT:-480}" "$work/fidelity" "$work" "${arguments[@]}" 2>&1 | tee -a "$table"
rc=${PIPESTATUS[0]}
[[ $rc -eq 0 ]] || bad=$((bad + 1))
say "all together: $([[ $bad -eq 0 ]] && echo within the bars || echo "$bad beyond the bars")"
[[ $bad -eq 0 ]]
