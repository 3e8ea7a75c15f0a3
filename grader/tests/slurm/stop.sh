#!/usr/bin/env bash
# Ends what start.sh started in DIR: by the process ids noted there, and nothing else.
dir=$(realpath -m "$1")
export SLURM_CONF="$dir/etc/slurm.conf"
timeout 5 scancel --user=root 2>/dev/null
for file in "$dir"/run/slurmctld.pid "$dir"/run/slurmd-*.pid "$dir"/run/slurmdbd.pid "$dir"/run/mariadb.pid "$dir"/run/munged.pid; do
  [[ -f $file ]] && kill "$(<"$file")" 2>/dev/null
done
sleep 1
for file in "$dir"/run/*.pid; do
  [[ -f $file ]] && kill -9 "$(<"$file")" 2>/dev/null
done
exit 0
