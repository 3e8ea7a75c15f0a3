#!/usr/bin/env bash
# Builds check_spmm with one submission and runs it, on a GPU or under the emulated CUDA runtime.
#
#   tools/check.sh FOLDER [EMULATOR_DIR] [nvcc flags]
#   tools/check.sh reference/spmm/optimized build/emulator
#   tools/check.sh grader/tests/submissions/accepted/legacy_simple build/emulator
#
# EMULATOR_DIR holds the emulated libcudart.so; `gpu` or nothing runs on the GPU. A folder with spmm_opt.h is built with
# the adaptor of the older class interface. ARCH (default 80) names the compute capability.
set -euo pipefail
spmm=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=../../tools/compile.bash
source "$spmm/../tools/compile.bash"
folder=$(cd "$1" && pwd)
emulator=${2:-gpu}
shift $(($# > 1 ? 2 : 1))
arch=${ARCH:-80}
include=$spmm/../include
sources=("$folder"/*.cu "$spmm/tools/check_spmm.cu" "$spmm/oracle.cpp")
flags=(-std=c++20 -O3 -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -no-compress -lineinfo
       -cudart shared -I "$include" -I "$spmm/.." "$@")
if [[ -e $folder/spmm_opt.h ]]; then
  sources+=("$include/legacy/spmm/adaptor.cu")
  flags+=(-I "$folder" -I "$include/legacy/spmm/include")
fi
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
compile_with_nvcc "$build/check" "${flags[@]}" "${sources[@]}"
if [[ $emulator != gpu ]]; then
  LD_LIBRARY_PATH=$(cd "$emulator" && pwd):${LD_LIBRARY_PATH:-}
  export LD_LIBRARY_PATH
fi
"$build/check"
