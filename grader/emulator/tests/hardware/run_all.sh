#!/usr/bin/env bash
# On a machine with a GPU: the emulator's test programs with NVIDIA's runtime, the error codes of faults, and what
# compute-sanitizer says of the mistakes that its record lacks. Prints one table; OUT (default build/hardware) receives
# the programs' output and sanitizer.json, the record with the rows that were missing.
#   run_all.sh [PROGRAM...]      (ARCH: compute capability, default 90; JOBS: compilations at a time, default: all cores)
# Exit code 0: every line reads `ok`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
programs=$root/grader/emulator/tests/programs mistakes=$root/grader/tests/mistakes
out=${OUT:-$root/build/hardware} arch=${ARCH:-90} jobs=${JOBS:-$(nproc)}
build_limit_s=75 run_limit_s=15 sanitizer_limit_s=90
mkdir -p "$out" && out=$(cd "$out" && pwd)

# A line a run: name, program, wanted exit code, arguments. The last group prints what it wants itself: an error's number.
# Programs whose argument is `sm_90` hold instructions of that architecture alone.
runs="cub_algorithms cub_algorithms 0
thrust_algorithms thrust_algorithms 0
libcudacxx libcudacxx 0
libcudacxx_barriers libcudacxx_barriers 0
curand_device curand_device 0
curand_host curand_host 0
cublas_host cublas_host 0
cublas_products_host cublas_products_host 0
cublasLt_host cublasLt_host 0
graph_of_libraries graph_of_libraries 0
cublas_in_graphs cublas_host 0 captured
cublas_products_in_graphs cublas_products_host 0 captured
nccl_host nccl_host 0 seed=1
nccl_jacobi nccl_jacobi 0 nccl
peer_jacobi nccl_jacobi 0 peer
nccl_graphs nccl_graphs 0
nccl_processes nccl_processes 0 2
cufft_host cufft_host 0
cusparse_host cusparse_host 0
cusparse_in_graphs cusparse_host 0 captured
driver_api driver_api 0
driver_memory driver_memory 0
driver_errors driver_errors 0
driver_nvrtc driver_nvrtc 0
textures textures 0
surfaces surfaces 0
matrix_products matrix_products 0 sm_90
sparse_products sparse_products 0
matrix_moves matrix_moves 0 sm_90
async_barriers async_barriers 0 sm_90
clusters clusters 0 sm_90
warp_group_products warp_group_products 0 sm_90
sparse_group_products sparse_group_products 0 sm_90
tensor_copies tensor_copies 0 sm_90
tensor_reductions tensor_reductions 0 sm_90
tensor_pipelines tensor_pipelines 0 sm_90
refused_maps tensor_copies 0 refused
nested_launches nested_launches 0
nested_errors nested_launches 0 errors
nested_fills nested_launches 0 fills
packed_values packed_values 0
atomics atomics 0 sm_90
dynamic_calls dynamic_calls 0
device_heap device_heap 0
integer_arithmetic integer_arithmetic 0
barriers barriers 0
async_copy async_copy 0
graphs graphs 0
several_devices several_devices 0
graph_memory graph_memory 0
graph_conditions graph_conditions 0
vectors_between_blocks vectors_between_blocks 0
runtime_errors runtime_errors 0
fault_700 runtime_errors 0 illegal_address
fault_716 runtime_errors 0 misaligned
fault_710 runtime_errors 0 assert
fault_719 runtime_errors 0 trap"
if (($# > 0)); then runs=$(grep -E " ($(IFS='|'; echo "$*")) " <<<"$runs"); fi

started=$SECONDS
sanitizer=
if (($# == 0)) && command -v compute-sanitizer >/dev/null; then
  timeout "$sanitizer_limit_s" python3 "$mistakes/with_sanitizer.py" "$out/sanitizer.json" --jobs "$jobs" --limit-s 15 \
    --missing-from "$mistakes/sanitizer-h200.json" >"$out/sanitizer.txt" 2>&1 &
  sanitizer=$!
fi
compile() {
  local target=sm_$arch libraries=()
  case $1 in
    warp_group_* | sparse_group_* | tensor_*) target+=a ;;
    curand_host) libraries=(-lcurand) ;;
    graph_of_libraries) libraries=(-lcublas -lcublasLt -lcusparse) ;;
    cublas_*) libraries=(-lcublas) ;;
    cublasLt_*) libraries=(-lcublasLt) ;;
    nccl_*) libraries=("-I$nccl/include" "-L$nccl/lib" -l:libnccl.so.2 -Xlinker "-rpath=$nccl/lib") ;;
    cufft_host) libraries=(-lcufft) ;;
    cusparse_*) libraries=(-lcusparse) ;;
    nested_launches) libraries=(-rdc=true -lcudadevrt) ;;
    driver_nvrtc) libraries=(-lcuda -lnvrtc) ;;
    driver_*) libraries=(-DON_A_GPU -lcuda) ;;
  esac
  # Not -arch=sm_90a, which compiles for compute_90 as well.
  timeout "$build_limit_s" nvcc -std=c++17 --extended-lambda -fmad=false -O3 -lineinfo \
    -gencode "arch=compute_${target#sm_},code=[compute_${target#sm_},$target]" -o "$out/$1" "$programs/$1.cu" "${libraries[@]}" \
    >"$out/$1.build.log" 2>&1 || rm -f "$out/$1"
  [[ $1 == driver_* ]] || return 0
  # The driver's programs load their kernels from files beside them.
  local form code
  for form in ptx fatbin; do
    code=sm_$arch
    [[ $form == fatbin ]] || code=compute_$arch
    timeout "$build_limit_s" nvcc -std=c++17 --extended-lambda -fmad=false -lineinfo "-$form" \
      -gencode "arch=compute_$arch,code=$code" -o "$out/$1.$form" "$programs/$1.cu" >>"$out/$1.build.log" 2>&1
  done
}
export -f compile
# Debian's package, or that of NVIDIA's wheel, which PyTorch brings.
nccl=${NCCL_HOME:-$(python3 -c 'import nvidia.nccl; print(list(nvidia.nccl.__path__)[0])' 2>/dev/null || echo /usr)}
export out programs arch build_limit_s nccl
# In the order of the list: what takes longest to compile comes first.
awk '!seen[$2]++ { print $2 }' <<<"$runs" | xargs -P "$jobs" -I{} bash -c 'rm -f "$out/{}"; compile {}'
built_s=$((SECONDS - started))

failures=0
row() {
  printf '| %-22s | %-9s | %s\n' "$1" "$2" "$3"
  [[ $2 == ok ]] || failures=$((failures + 1))
}
printf '| %-22s | %-9s | %s\n' "run" "verdict" "output"
echo "|---|---|---"
while read -r name program want arguments; do
  if [[ ! -x $out/$program ]]; then
    row "$name" "no build" "$(tail -n 1 "$out/$program.build.log")"
    continue
  fi
  # shellcheck disable=SC2086
  timeout "$run_limit_s" "$out/$program" $arguments >"$out/$name.txt" 2>"$out/$name.err"
  code=$?
  verdict=ok
  [[ $code == "$want" ]] || verdict="exit $code"
  if [[ $name == fault_* ]] && ! grep -qw "${name#fault_}" "$out/$name.txt"; then verdict="other"; fi
  said=$out/$name.txt
  [[ $verdict == ok || -s $said ]] || said=$out/$name.err
  row "$name" "$verdict" "$({ grep '^FAILED' "$said" || grep -v '^$' "$said" | tail -n 1; } | paste -s -d ';' | sed "s#$root/##g" | cut -c 1-400)"
done <<<"$runs"

if [[ -n $sanitizer ]]; then
  wait "$sanitizer"
  code=$?
  verdict=ok
  [[ $code == 0 ]] || verdict="exit $code"
  while read -r line; do row "compute-sanitizer" "$verdict" "$line"; done < <(tail -n 12 "$out/sanitizer.txt")
fi
echo "$failures not ok; built in $built_s s, all in $((SECONDS - started)) s; $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)"
((failures == 0))
