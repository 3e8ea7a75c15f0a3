# What tools/bench.sh of the labs apsp, histogram and sampling share; each sources it and says what is its own.
#
#   bench.sh BUILD_DIR check|time [repetitions] [NAME=FOLDER[:nvcc flags] ...]
#   bench.sh /tmp/bench time naive=naive "opt=optimized"
#   LD_LIBRARY_PATH=build/emulator bench.sh /tmp/bench check         on the emulator
#
# FOLDER is relative to reference/<lab>. ARCH (default 90) names the compute capability; BENCH_BUILD_ONLY=1: nothing is run.

# shellcheck source=compile.bash
source "${BASH_SOURCE[0]%/*}/compile.bash"

# Sets lab, room, build, mode, repetitions, submissions and (empty) vendor_flags from the script's own arguments.
read_bench_arguments() {
  room=$(cd "$(dirname "$0")/.." && pwd)
  lab=${room##*/}
  if (($# < 2)) || [[ $2 != check && $2 != time ]]; then
    echo "usage: reference/$lab/tools/bench.sh BUILD_DIR check|time [repetitions] [NAME=FOLDER[:nvcc flags] ...]" >&2
    exit 1
  fi
  build=$1 mode=$2
  shift 2
  repetitions=()
  if [[ ${1:-} =~ ^[0-9]+$ ]]; then repetitions+=("$1"); shift; fi
  submissions=("$@") vendor_flags=()
}

# All solutions of the room: naive, step1 to stepN, opt.
staff_solutions() {
  echo naive=naive
  local step
  for step in "$room"/steps/*/; do
    step=$(basename "$step")
    echo "step$((10#${step%%_*}))=steps/$step"
  done
  echo opt=optimized
}

# Builds bench_<lab> from it and the room's sources that are named, and a library a submission, side by side; then runs it.
# vendor_flags go to submissions from vendor/.
build_and_run_bench() {
  local arch=${ARCH:-90} jobs=() libraries=() submission
  local common=(-std=c++20 -O3 -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -no-compress -lineinfo
                -cudart shared -I "$room/../include" -I "$room/..")
  mkdir -p "$build"
  compile_with_nvcc "$build/bench_$lab" "${common[@]}" "$room/tools/bench_$lab.cu" "${@/#/"$room/"}" -ldl & jobs+=($!)
  for submission in "${submissions[@]}"; do
    local name=${submission%%=*} rest=${submission#*=}
    local folder=${rest%%:*} flags=()
    [[ $rest == *:* ]] && read -r -a flags <<<"${rest#*:}"
    [[ $folder == vendor/* ]] && flags+=("${vendor_flags[@]}")
    compile_with_nvcc "$build/${lab}_$name.so" "${common[@]}" -shared -Xcompiler -fPIC -Xlinker -Bsymbolic \
      "$room/$folder"/*.cu "$room/tools/exports.cu" "${flags[@]}" & jobs+=($!)
    libraries+=("$name=$build/${lab}_$name.so")
  done
  for job in "${jobs[@]}"; do wait "$job"; done
  [[ -n ${BENCH_BUILD_ONLY:-} ]] || "$build/bench_$lab" "$mode" "${repetitions[@]}" "${libraries[@]}"
}
