#!/usr/bin/env bash
# On a machine with a GPU: builds the differential suite and records what the GPU computes, a file a group.
#   record.sh OUT_DIR
# The PTX is that of the emulator's tests (compute_80, for sm90 compute_90); the driver compiles it for the GPU at hand.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
cp "$here"/*.cu "$work"
jobs=()
for source in "$work"/*.cu; do
  group=$(basename "${source%.cu}")
  arch=80
  [[ $group == *sm90* ]] && arch=90
  nvcc -std=c++17 -fmad=false -gencode "arch=compute_$arch,code=compute_$arch" -I "$here" -o "$work/$group" "$source" "$here/main.cpp" &
  jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job"; done
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | tee "$out/machine.txt"
nvcc --version | tail -n 1 | tee -a "$out/machine.txt"
for source in "$work"/*.cu; do
  group=$(basename "${source%.cu}")
  "$work/$group" record >"$out/$group.txt" || echo "$group: not recorded to its end" >&2
done
cat "$out"/*.txt | wc
