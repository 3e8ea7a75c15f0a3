#!/bin/bash
# Records every program of the suite on this machine's GPU: record.sh FOLDER. The driver compiles the same compute_86
# PTX for the GPU that CI gives the emulator. What it writes belongs in recordings/.
set -eu
export PATH=$PATH:/usr/local/cuda/bin
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "$1" && cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$here/generate.py" "$work"
record() {
  nvcc -std=c++17 -fmad=false -gencode arch=compute_86,code=compute_86 -I"$1" -o "$2/$3" "$2/$3.cu"
  "$2/$3" "$2/$3.values"
  # The inputs follow from their seeds: the recording holds the outputs alone.
  sed 's/ |.*//' "$2/$3.values" | gzip -9n > "$4/$3.gz"
  head -n 1 "$2/$3.values"
}
export -f record
python3 "$here/generate.py" --list | tr ';' '\n' | xargs -P "$(nproc)" -I{} bash -euc 'record "$@"' _ "$here" "$work" {} "$out"
