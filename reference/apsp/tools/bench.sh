#!/usr/bin/env bash
# Builds bench_apsp and one shared library a submission, then runs it.
#
#   tools/bench.sh BUILD_DIR check|time [repetitions] [NAME=FOLDER[:nvcc flags] ...]
#   tools/bench.sh /tmp/bench time naive=naive "opt=optimized"
#   LD_LIBRARY_PATH=build/emulator tools/bench.sh /tmp/bench check         on the emulator
#
# FOLDER is relative to reference/apsp; without any: naive, the steps and the optimized solution. ARCH (default 90) names
# the compute capability; BENCH_BUILD_ONLY=1: nothing is run.
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
  set -- naive=naive
  for step in "$room"/steps/*; do step=${step##*/}; set -- "$@" "step${step%%_*}=steps/$step"; done
  set -- "$@" opt=optimized
fi
jobs=() libraries=()
nvcc "${common[@]}" "$room/tools/bench_apsp.cu" "$room/oracle.cpp" -ldl \
  -o "$build/bench_apsp" & jobs+=($!)
for submission; do
  name=${submission%%=*} rest=${submission#*=}
  folder=${rest%%:*} flags=()
  [[ $rest == *:* ]] && read -r -a flags <<<"${rest#*:}"
  nvcc "${common[@]}" -shared -Xcompiler -fPIC -Xlinker -Bsymbolic "$room/$folder"/*.cu "$room/tools/exports.cu" \
    "${flags[@]}" -o "$build/apsp_$name.so" & jobs+=($!)
  libraries+=("$name=$build/apsp_$name.so")
done
for job in "${jobs[@]}"; do wait "$job"; done
[[ -n ${BENCH_BUILD_ONLY:-} ]] || "$build/bench_apsp" "$mode" "${options[@]}" "${libraries[@]}"
