#!/bin/bash
# run.sh PROGRAM RECORDING.gz LIBRARY_DIR: the program on the emulator, its values against the recording.
set -eu
here=$(dirname "$0")
values=$(mktemp)
trap 'rm -f "$values"' EXIT
LD_LIBRARY_PATH=$3 WARPEMU_ARCH=${WARPEMU_ARCH:-86} "$1" "$values"
python3 "$here/compare.py" "$values" "$2"
