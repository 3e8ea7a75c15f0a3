#!/usr/bin/env bash
# Builds bench_sampling and one shared library a submission, then runs it.
#
#   tools/bench.sh BUILD_DIR check|time [repetitions] [NAME=FOLDER[:nvcc flags] ...]
#   tools/bench.sh /tmp/bench time naive=naive "opt=optimized"
#   LD_LIBRARY_PATH=build/emulator tools/bench.sh /tmp/bench check         on the emulator
#
# FOLDER is relative to reference/sampling; without any: naive, the steps, the optimized solution and, where it is
# timed, cuRAND's. ARCH (default 90) names the compute capability, CURAND_FLAGS where cuRAND lives.
# BENCH_BUILD_ONLY=1: nothing is run.
set -euo pipefail
room=$(cd "$(dirname "$0")/.." && pwd)
build=$1 mode=$2
shift 2
options=()
if [[ ${1:-} =~ ^[0-9]+$ ]]; then options+=("$1"); shift; fi
mkdir -p "$build"
arch=${ARCH:-90}
common=(-std=c++20 -O3 -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -no-compress -lineinfo -cudart shared
        -I "$room/../include" -I "$room/..")
if [[ $# -eq 0 ]]; then
  set -- naive=naive step1=steps/01_thread_a_sample step2=steps/02_philox_fours step3=steps/03_staged_rows opt=optimized
  [[ $mode == check ]] || set -- "$@" curand=vendor/curand
fi
jobs=() libraries=()
nvcc "${common[@]}" "$room/tools/bench_sampling.cu" "$room/oracle.cpp" "$room/statistics.cpp" -ldl \
  -o "$build/bench_sampling" & jobs+=($!)
read -r -a curand_flags <<<"${CURAND_FLAGS:-}"
for submission; do
  name=${submission%%=*} rest=${submission#*=}
  folder=${rest%%:*} flags=()
  [[ $rest == *:* ]] && read -r -a flags <<<"${rest#*:}"
  [[ $folder == vendor/* ]] && flags+=("${curand_flags[@]}" -lcurand)
  nvcc "${common[@]}" -shared -Xcompiler -fPIC -Xlinker -Bsymbolic "$room/$folder"/*.cu "$room/tools/exports.cu" \
    "${flags[@]}" -o "$build/sampling_$name.so" & jobs+=($!)
  libraries+=("$name=$build/sampling_$name.so")
done
for job in "${jobs[@]}"; do wait "$job"; done
[[ -n ${BENCH_BUILD_ONLY:-} ]] || "$build/bench_sampling" "$mode" "${options[@]}" "${libraries[@]}"
