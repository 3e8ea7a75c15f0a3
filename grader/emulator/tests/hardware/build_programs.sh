#!/usr/bin/env bash
# Builds the programs whose counters are compared between ncu and the emulator (the SpMM ladder, the kernels of known cost),
# and the benchmark of the emulator.
#   build_programs.sh BUILD_DIR       (ARCH: compute capability, default 90)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
build=$1 arch=${ARCH:-90}
mkdir -p "$build"
flags=(-std=c++17 -O3 -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -no-compress -lineinfo -cudart shared
       -I "$root/reference/include" -ldl)
jobs=()
for folder in "$root"/reference/spmm/{naive,optimized,steps/*}; do
  nvcc "${flags[@]}" -I "$folder" "$here/spmm_ladder.cu" "$folder"/*.cu -o "$build/spmm_$(basename "$folder")" & jobs+=($!)
done
for program in benchmark benchmark_products benchmark_arithmetic; do
  nvcc "${flags[@]}" --extended-lambda "$here/../programs/$program.cu" -o "$build/$program" & jobs+=($!)
done
nvcc "${flags[@]}" -I "$here/../programs" "$here/../programs/counted.cu" -o "$build/counted" & jobs+=($!)
for job in "${jobs[@]}"; do wait "$job"; done
# One line a run: its name, then the command.
for program in "$build"/spmm_*; do
  [[ -x $program && $program != *.* ]] || continue
  for k in 32 256; do echo "$(basename "$program")_k$k $program $k"; done
done >"$build/runs.txt"
for run in copy shifted "strided 2" "strided 8" "strided 32" uniform paired scattered wide column padded "shared_double 0" \
           "shared_double 1" "shared_double 2" "shared_double 5" "shared_float4 0" "shared_float4 1" "shared_float4 2" "shared_float4 5" \
           halves "histogram 0" "histogram 1" "histogram 5" skewed_histogram "shared_histogram 0" "shared_histogram 1" "shared_histogram 5" reread; do
  echo "counted_${run// /_} $build/counted $run"
done >>"$build/runs.txt"
