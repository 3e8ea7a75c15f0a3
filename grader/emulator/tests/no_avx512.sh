#!/usr/bin/env bash
# What runs where native code is made for AVX2 has no instruction of AVX-512: looks at every function of the objects but those
# that are chosen on processors that have it.
#   no_avx512.sh OBJDUMP OBJECT...
set -euo pipefail
objdump=$1
shift
"$objdump" -d --no-show-raw-insn "$@" | awk '
  /^[0-9a-f]+ <.*>:$/ { name = $2; own = name ~ /avx512|arch_x86_64_v4/; functions++; chosen += own; next }
  /%zmm|%[xy]mm(1[6-9]|2[0-9]|3[01])|\{%k|%k[0-7]/ {
    if (own) { found++ } else { print "AVX-512 in " name " " $0; wrong++ }
  }
  END {
    printf "%d functions, %d for AVX-512 with %d of its instructions\n", functions, chosen, found
    exit wrong > 0 || found == 0
  }'
