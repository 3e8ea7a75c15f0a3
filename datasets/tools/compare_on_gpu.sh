#!/usr/bin/env bash
# Times cuSPARSE and the optimized SpMM on real graphs and on their stand-ins, K = 32 and 256, and says how far the times
# lie apart. Needs a GPU, nvcc, cuSPARSE and Python 3; under 90 s on an H200.
#
#   datasets/tools/compare_on_gpu.sh GRAPHS OUTPUT
#
# GRAPHS   a folder of NAME.mtx.gz or NAME.npz; those without parameters in datasets/fits are left out, visibly
# OUTPUT   a folder for bench.jsonl (every sample), comparison.json and comparison.md
# TOOL=build/bin/warpgrade     any program with `data synth`: build/bin/datasets_tool will do
# WORK=folder                  keeps the matrices and the bench there, for the next time; BENCH=folder: the bench there
# BASELINES="NAME=FOLDER ..."   other baselines than cuSPARSE's, DEVICE=emulator: to try the script where no GPU is
# CUSPARSE_FLAGS, ARCH         as for reference/spmm/tools/bench.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
graphs=$(cd "${1:?give the folder of graphs}" && pwd)
output=${2:?give a folder for the results}
mkdir -p "$output"
output=$(cd "$output" && pwd)
tool=${TOOL:-}
for candidate in "$root/build/bin/warpgrade" "$root/build/bin/datasets_tool"; do
  [[ -z $tool && -x $candidate ]] && tool=$candidate
done
[[ -n $tool ]] || { echo "compare_on_gpu: no program with \`data synth\`: build datasets_tool, or say TOOL=" >&2; exit 2; }
[[ ${DEVICE:-gpu} == emulator ]] || nvidia-smi -L >/dev/null 2>&1 || { echo "compare_on_gpu: no GPU here; nothing was measured" >&2; exit 1; }
work=${WORK:-}
[[ -n $work ]] || { work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT; }
mkdir -p "$work/matrices" "$work/cache"
data() {
  local options=()
  [[ $(basename "$tool") == datasets_tool ]] && options=(--catalog "$root/datasets/catalog.yaml" --cache "$work/cache")
  "$tool" "${options[@]}" data "$@"
}
prepare() {  # the real graph and its stand-in, in the working format
  local file=$1 name=$2
  local real=$work/matrices/$name.npz standin=$work/matrices/$name.standin.npz
  [[ -e $real ]] || data import "$file" --output "$real" >/dev/null
  [[ -e $standin ]] || data synth --spec "$root/datasets/fits/$name.json" --out "$standin" >/dev/null
}
jobs=()
for file in "$graphs"/*.mtx.gz "$graphs"/*.npz; do
  [[ -e $file ]] || continue
  name=$(basename "$file")
  name=${name%.npz} name=${name%.mtx.gz}
  [[ -e $root/datasets/fits/$name.json ]] || { echo "compare_on_gpu: $name has no datasets/fits/$name.json: left out" >&2; continue; }
  prepare "$file" "$name" & jobs+=($!)
done
((${#jobs[@]})) || { echo "compare_on_gpu: no graph of datasets/fits in $graphs" >&2; exit 2; }
for job in "${jobs[@]}"; do wait "$job"; done
rm -f "$output/bench.jsonl"
read -ra baselines <<<"${BASELINES:-cusparse_default=vendor/cusparse_default cusparse_best=vendor/cusparse_best}"
BENCH_KEEP=1 "$root/reference/spmm/tools/bench.sh" "${BENCH:-$work/bench}" "${baselines[@]}" optimized=optimized -- \
  --matrices "$work/matrices" --repetitions "${REPETITIONS:-31}" --json "$output/bench.jsonl"
python3 "$root/datasets/tools/compare_times.py" "$output/bench.jsonl" "$output"
