#!/usr/bin/env bash
# Builds bench_spmm and one shared library a submission, then runs it.
#
#   tools/bench.sh BUILD_DIR NAME=FOLDER[:nvcc flags] ... [-- bench_spmm options]
#   tools/bench.sh /tmp/bench default=vendor/cusparse_default opt=optimized "d4=steps/02_staged_a:-DSPMM_D=4" -- --k 32
#   LD_LIBRARY_PATH=build/emulator tools/bench.sh /tmp/bench opt=optimized -- --scale 0.001       on the emulator
#
# FOLDER is relative to reference/spmm. ARCH (default 90) names the compute capability, BENCH_FLAGS extra flags for
# bench_spmm itself, CUSPARSE_FLAGS where cuSPARSE lives. BENCH_KEEP=1: what BUILD_DIR holds and is newer than
# the sources is not built again; BENCH_BUILD_ONLY=1: nothing is run.
set -euo pipefail
spmm=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=../../tools/compile.bash
source "$spmm/../tools/compile.bash"
build=$1
shift
mkdir -p "$build"
arch=${ARCH:-90}
common=(-std=c++17 -O3 -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -no-compress -lineinfo -cudart shared
        -I "$spmm/../include" -I "$spmm/..")
read -r -a bench_flags <<<"${BENCH_FLAGS:-}"
read -r -a cusparse_flags <<<"${CUSPARSE_FLAGS:-}"
jobs=() libraries=()
compile() {  # file, nvcc arguments; a file appears whole or not at all
  [[ -n ${BENCH_KEEP:-} && -e $1 && -z $(find "$spmm" "$spmm/../include" "$spmm/../tools" -name '*.[ch]*' -newer "$1" -print -quit) ]] && return
  compile_with_nvcc "$1.part" "${common[@]}" "${@:2}"
  mv "$1.part" "$1"
}
compile "$build/bench_spmm" "${bench_flags[@]}" "$spmm/tools/bench_spmm.cu" -ldl & jobs+=($!)
while [[ $# -gt 0 && $1 != -- ]]; do
  name=${1%%=*} rest=${1#*=}
  folder=${rest%%:*} flags=()
  [[ $rest == *:* ]] && read -r -a flags <<<"${rest#*:}"
  [[ $folder == vendor/* ]] && flags+=("${cusparse_flags[@]}" -lcusparse)
  compile "$build/$name.so" -shared -Xcompiler -fPIC -Xlinker -Bsymbolic "$spmm/$folder"/*.cu \
    "$spmm/tools/exports.cu" "${flags[@]}" & jobs+=($!)
  libraries+=("$name=$build/$name.so")
  shift
done
for job in "${jobs[@]}"; do wait "$job"; done
[[ $# -gt 0 ]] && shift
[[ -n ${BENCH_BUILD_ONLY:-} ]] || exec "$build/bench_spmm" "${libraries[@]}" "$@"
