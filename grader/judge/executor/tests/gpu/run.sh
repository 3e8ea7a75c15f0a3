#!/usr/bin/env bash
# The executor on this machine's GPU, without CMake: builds (g++, nvcc), runs programs on the GPU directly and through
# the executor, compares, measures calls and timed runs. Everything goes to $OUT (or ./executor-gpu); a summary to stdout.
#   grader/judge/executor/tests/gpu/run.sh [stage ...]     stages: build programs calibrate timed costs features
set -uo pipefail
root=$(cd "$(dirname "$0")/../../../../.." && pwd)
out=${OUT:-$PWD/executor-gpu}
work=${WORK:-/tmp/warpgrade-executor-gpu}
cuda=${CUDA_HOME:-/usr/local/cuda}
mkdir -p "$out" "$work/programs"
log=$out/executor-gpu.log
: >"$log"
want=("$@")
programs=${PROGRAMS:-"runtime_api runtime_errors memory_spaces graphs atomics barriers cooperative_groups device_functions printf_and_assert
  warp_operations cub_thrust thrust_algorithms cub_algorithms curand_device libcudacxx integer_arithmetic spmm device_heap textures surfaces host_functions"}

wanted() { [[ ${#want[@]} -eq 0 || " ${want[*]} " == *" $1 "* ]]; }
# stage NAME SECONDS COMMAND...: goes on after a failure.
stage() {
  local name=$1 limit=$2 rc begin=$SECONDS
  shift 2
  echo "== $name: $*" >>"$log"
  timeout -k 5 "$limit" "$@" >>"$log" 2>&1
  rc=$?
  echo "== $name: rc $rc, $((SECONDS - begin)) s" | tee -a "$log"
  [[ $rc -eq 0 ]] || tail -6 "$log" | cut -c1-300 | sed 's/^/   | /'
  return $rc
}

{ date; nvidia-smi -L; nvidia-smi --query-gpu=driver_version,clocks.sm,pci.bus_id --format=csv,noheader; nproc
  g++ --version | head -1; "$cuda/bin/nvcc" --version | tail -2; ulimit -l; uname -r; } >>"$log" 2>&1
head -c 900 "$log"

make_stubs() {  # what grader/cudart/GenerateStubs.cmake does
  local name base index=0
  echo '.section .note.GNU-stack,"",@progbits'
  nm -D --defined-only "$cuda/lib64/libcudart.so" | awk '$2=="T"{sub(/@.*/,"",$3); print $3}' | sort -u | while read -r name; do
    base=${name%_ptsz}; base=${base%_ptds}
    printf '.text\n.weak %s\n.type %s,@function\n%s:\n  endbr64\n' "$name" "$name" "$name"
    if [[ $base != "$name" ]]; then
      printf '  jmp %s@PLT\n' "$base"
    else
      printf '  leaq .Lname%d(%%rip), %%rdi\n  jmp cudart_not_implemented@PLT\n.section .rodata\n.Lname%d: .asciz "%s"\n' $index $index "$name"
    fi
    index=$((index + 1))
  done
}

build() {
  cd "$work" || return 1
  local soname units
  soname=$(readelf -d "$cuda/lib64/libcudart.so" | sed -n 's/.*soname: \[\(.*\)\].*/\1/p')
  local flags="-std=c++20 -O2 -g1 -fPIC -fno-strict-aliasing -Wno-deprecated-declarations -I$root/grader -isystem $cuda/include"
  make_stubs >stubs.S
  echo "$soname { global: cuda*; __cuda*; }; WARPGRADE { global: warpgrade_executor_*; local: *; };" >map
  "$cuda/bin/nvcc" -std=c++17 -O3 -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90 -fatbin \
    -o timing.fatbin "$root/grader/judge/executor/driver/timing_kernels.cu" || return 1
  "$cuda/bin/bin2c" --const --type longlong --name warpgrade_timing_kernels timing.fatbin >timing.c || return 1
  gcc -O1 -fPIC -c timing.c -o timing.o || return 1
  rm -f unit-*.o
  printf '%s\n' "$root"/grader/cudart/*.cpp "$root"/grader/judge/executor/*.cpp "$root"/grader/judge/executor/*/*.cpp |
    grep -v '/tests/' | xargs -P "$(nproc)" -I{} sh -c \
      'g++ '"$flags"' -c {} -o "unit-$(echo {} | sed "s|.*/grader/||; s|/|_|g").o" || exit 255' || return 1
  g++ -shared -o "$soname" unit-cudart_*.o unit-judge_executor_forwarding_*.o unit-judge_executor_shared_memory.cpp.o -x assembler stubs.S \
    -Wl,--version-script=map -Wl,-z,defs -Wl,-soname,"$soname" -static-libstdc++ -static-libgcc -lpthread -ldl || return 1
  mapfile -t units < <(printf '%s\n' unit-judge_executor_*.o | grep -v forwarding)
  rm -f libcudart-units.a
  ar rcs libcudart-units.a unit-cudart_*.o || return 1
  g++ -o warpgrade-executor "${units[@]}" timing.o libcudart-units.a -lpthread -ldl -static-libstdc++ -static-libgcc || return 1
}

build_programs() {
  cd "$work" || return 1
  local nvcc="$cuda/bin/nvcc -std=c++17 -O3 --extended-lambda -fmad=false -cudart shared -gencode arch=compute_90,code=[compute_90,sm_90]"
  { for f in $programs; do echo "$root/grader/emulator/tests/programs/$f.cu programs/$f"; done
    for f in call_costs timed_commands launch_kinds; do echo "$root/grader/judge/executor/tests/gpu/$f.cu programs/$f"; done; } |
    xargs -P "$(nproc)" -L1 sh -c "$nvcc -I$root/grader \$0 -o \$1 -ldl || echo \"not built: \$1\""
}

# One program both ways: exit codes and sorted output.
compare() {
  local program=$1 direct forwarded state=equal
  shift
  timeout -k 2 30 "$work/programs/$program" "$@" >"$work/direct.txt" 2>&1; direct=$?
  timeout -k 2 30 "$work/warpgrade-executor" --backend gpu --figures -- "$work/programs/$program" "$@" >"$work/forwarded.txt" 2>&1; forwarded=$?
  { echo "-- $program $*: direct $direct"; tail -12 "$work/direct.txt"; echo "-- $program $*: executor $forwarded"; tail -25 "$work/forwarded.txt"; } >>"$log"
  [[ $direct -eq $forwarded ]] || state="DIFFERS: exit $direct against $forwarded"
  grep -v '^executor: ' "$work/forwarded.txt" | sort >"$work/b"; sort "$work/direct.txt" >"$work/a"
  cmp -s "$work/a" "$work/b" || state="$state, other output"
  echo "feature $program $*: $state ($(grep -oE '[0-9.]+ ms from the start' "$work/forwarded.txt" | head -1))" | tee -a "$log"
  [[ $state == equal ]] || { grep -hE 'FAILED|executor: |unsupported|Error|error' "$work/forwarded.txt" | head -4 | cut -c1-200 | sed 's/^/   | /'; }
}

export LD_LIBRARY_PATH=$cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if wanted build; then
  stage build "${BUILD_LIMIT:-300}" bash -c "$(declare -f make_stubs build); root='$root' work='$work' cuda='$cuda' build" || echo "the rest needs the build"
fi
if wanted programs; then
  stage programs "${BUILD_LIMIT:-150}" bash -c "$(declare -f build_programs); root='$root' work='$work' cuda='$cuda' programs='$(echo $programs)' build_programs"
fi
if wanted calibrate; then
  stage calibrate 30 "$work/warpgrade-executor" --calibrate
  grep -E '^(clock|constant|own spin)' "$log" | cut -c1-330
fi
if wanted timed; then
  stage timed 30 "$work/warpgrade-executor" --timed "1 2 3 4 5 6 7 8 9 10 2" -- "$work/programs/timed_commands"
  grep -E '^(command|constant of)' "$log" | tail -12 | cut -c1-420
fi
if wanted costs; then
  stage costs-direct 30 "$work/programs/call_costs"
  stage costs-executor 30 "$work/warpgrade-executor" --backend gpu --figures -- "$work/programs/call_costs"
  grep -E '^(cost|ok|FAILED|executor: .* ms)' "$log" | cut -c1-160
fi
if wanted features; then
  for p in $programs; do [[ -x $work/programs/$p ]] && if [[ $p == runtime_api ]]; then compare "$p" gpu; else compare "$p"; fi; done
  for f in illegal_address assert misaligned trap; do compare runtime_errors $f; done
fi
cp "$work"/direct.txt "$work"/forwarded.txt "$out"/ 2>/dev/null
echo "whole log: $log"
