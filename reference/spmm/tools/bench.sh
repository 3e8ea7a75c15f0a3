#!/usr/bin/env bash
# Builds bench_spmm and one shared library a submission, then runs it.
#
#   tools/bench.sh BUILD_DIR NAME=FOLDER[:nvcc flags] ... [-- bench_spmm options]
#   tools/bench.sh /tmp/bench default=vendor/cusparse_default opt=optimized "d4=steps/02_staged_a:-DSPMM_D=4" -- --k 32
#
# FOLDER is relative to reference/spmm. ARCH (default 90) names the compute capability, BENCH_FLAGS extra flags for
# bench_spmm itself, CUSPARSE_FLAGS where cuSPARSE lives.
set -euo pipefail
spmm=$(cd "$(dirname "$0")/.." && pwd)
build=$1
shift
mkdir -p "$build"
arch=${ARCH:-90}
common=(-std=c++17 -O3 -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -lineinfo -cudart shared
        -I "$spmm/../include")
read -r -a bench_flags <<<"${BENCH_FLAGS:-}"
read -r -a cusparse_flags <<<"${CUSPARSE_FLAGS:-}"
jobs=() libraries=()
nvcc "${common[@]}" "${bench_flags[@]}" "$spmm/tools/bench_spmm.cu" -ldl -o "$build/bench_spmm" & jobs+=($!)
while [[ $# -gt 0 && $1 != -- ]]; do
  name=${1%%=*} rest=${1#*=}
  folder=${rest%%:*} flags=()
  [[ $rest == *:* ]] && read -r -a flags <<<"${rest#*:}"
  [[ $folder == vendor/* ]] && flags+=("${cusparse_flags[@]}" -lcusparse)
  nvcc "${common[@]}" -shared -Xcompiler -fPIC -Xlinker -Bsymbolic "$spmm/$folder"/*.cu "$spmm/tools/exports.cu" \
    "${flags[@]}" -o "$build/$name.so" & jobs+=($!)
  libraries+=("$name=$build/$name.so")
  shift
done
for job in "${jobs[@]}"; do wait "$job"; done
[[ $# -gt 0 ]] && shift
"$build/bench_spmm" "${libraries[@]}" "$@"
