#!/bin/bash
# Runs the runtime's and the libraries' test programs on a GPU with NVIDIA's runtime: each must end with 0, each fault
# must print the error code in its name. Run from the repository's root; OUT receives results.txt.
set -u
out=${OUT:?set OUT to a folder for the results}
arch=${ARCH:-90}
cd grader/emulator/tests/programs || exit 2
build() {
  nvcc -std=c++17 --extended-lambda -fmad=false -O3 -cudart shared \
    -gencode "arch=compute_$arch,code=sm_$arch" -o "/tmp/on_gpu_$1" "$1.cu"
}
for program in graphs runtime_errors curand_device cub_algorithms thrust_algorithms libcudacxx libcudacxx_barriers; do
  build "$program" &
done
wait
{
  for program in graphs runtime_errors curand_device cub_algorithms thrust_algorithms libcudacxx libcudacxx_barriers; do
    echo "== $program"
    timeout 60 "/tmp/on_gpu_$program"
    echo "exit $?"
  done
  for fault in illegal_address:700 misaligned:716 assert:710 trap:719; do
    echo "== runtime_errors ${fault%:*}, want ${fault#*:}"
    timeout 60 /tmp/on_gpu_runtime_errors "${fault%:*}" 2>/dev/null
  done
} | tee "$out/results.txt"
