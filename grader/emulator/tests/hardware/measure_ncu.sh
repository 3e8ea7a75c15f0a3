#!/usr/bin/env bash
# On a machine with a GPU and ncu: the hardware's counters of every program, a CSV file a run.
#   measure_ncu.sh BUILD_DIR OUT_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1 out=$2
"$here/build_programs.sh" "$build"
mkdir -p "$out"
wanted=()
for op in ld st; do
  wanted+=("l1tex__t_requests_pipe_lsu_mem_global_op_$op.sum" "l1tex__t_sectors_pipe_lsu_mem_global_op_$op.sum"
           "smsp__inst_executed_op_shared_$op.sum" "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$op.sum"
           "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_$op.sum"
           "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_$op.sum"
           "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_$op.sum")
done
for op in atom red; do
  wanted+=("l1tex__t_requests_pipe_lsu_mem_global_op_$op.sum" "l1tex__t_sectors_pipe_lsu_mem_global_op_$op.sum")
done
wanted+=(smsp__inst_executed_op_shared_atom.sum l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum
         l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum
         l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum
         smsp__inst_executed.sum smsp__thread_inst_executed_per_inst_executed.ratio
         smsp__thread_inst_executed_pred_on_per_inst_executed.ratio)
# A metric that this ncu does not know would make it refuse them all.
known=$(ncu --query-metrics 2>/dev/null | awk '{print $1}' || true)
metrics=()
for metric in "${wanted[@]}"; do
  if [[ -z $known || $metric == smsp__sass* ]] || grep -qx -- "${metric%%.*}" <<<"$known"; then
    metrics+=("$metric")
  else
    echo "measure_ncu: ncu does not know $metric" >&2
  fi
done
list=$(IFS=,; echo "${metrics[*]}")
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$out/machine.txt"
ncu --version | tail -n 1 >>"$out/machine.txt"
while read -r name command; do
  # shellcheck disable=SC2086
  ncu --clock-control none --csv --page raw --metrics "$list" $command </dev/null 2>"$out/$name.log" |
    sed -n '/^"ID"/,$p' >"$out/$name.csv" || true
  [[ -s $out/$name.csv ]] && rm -f "$out/$name.log" || echo "measure_ncu: nothing from $name: see $out/$name.log" >&2
done <"$build/runs.txt"
ls "$out" | wc -l
