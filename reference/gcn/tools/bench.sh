#!/usr/bin/env bash
# Builds bench_gcn once a submission and runs each.
#
#   tools/bench.sh BUILD_DIR NAME=FOLDER[:nvcc flags] ... [-- bench_gcn options]
#   tools/bench.sh /tmp/bench naive=naive vendor=vendor/cublas_cusparse opt=optimized -- --vertices 100000
#
# FOLDER is relative to reference/gcn. ARCH (default 90) names the compute capability; BENCH_BUILD_ONLY=1: nothing is run.
set -euo pipefail
gcn=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=../../tools/compile.bash
source "$gcn/../tools/compile.bash"
build=$1
shift
mkdir -p "$build"
arch=${ARCH:-90}
names=() jobs=()
while [[ $# -gt 0 && $1 != -- ]]; do
  name=${1%%=*} rest=${1#*=}
  folder=${rest%%:*} flags=()
  [[ $rest == *:* ]] && read -r -a flags <<<"${rest#*:}"
  [[ $folder == vendor/* ]] && flags+=(-lcublas -lcusparse)
  compile_with_nvcc "$build/$name" -std=c++17 -O3 -gencode "arch=compute_$arch,code=[compute_$arch,sm_$arch]" -no-compress -lineinfo \
    -cudart shared -I "$gcn/../include" -I "$gcn/.." "$gcn/tools/bench_gcn.cu" "$gcn/$folder"/*.cu "${flags[@]}" -ldl & jobs+=($!)
  names+=("$name")
  shift
done
for job in "${jobs[@]}"; do wait "$job"; done
[[ $# -gt 0 ]] && shift
[[ -z ${BENCH_BUILD_ONLY:-} ]] || exit 0
status=0
for name in "${names[@]}"; do
  echo "== $name"
  "$build/$name" "$@" || status=1
done
exit $status
