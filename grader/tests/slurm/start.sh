#!/usr/bin/env bash
# Starts a real Slurm with several nodes on this machine, for tests: everything lies under DIR, on ports of its own, with
# its own munged. Needs root and the packages slurm-wlm and munge; with accounting also slurmdbd and mariadb-server.
#
#   start.sh DIR NODES [accounting]     then: export SLURM_CONF=DIR/etc/slurm.conf
#
# Every node has one `gpu` resource, backed by /dev/null, and the feature `big`. Jobs of the partition `urgent` take the place of
# others, which Slurm then starts again. CONSTRAIN_MEMORY=1 holds tasks to their memory, by control groups of version 1
# (cgroup.conf(5)); nodes say that they have 64 GB, whatever the machine has. PORT (default 26817) and the ports behind it are used.
set -euo pipefail
dir=$(realpath -m "$1") nodes=$2 accounting=${3:-}
port=${PORT:-26817}
mkdir -p "$dir"/{etc,log,spool,state,run}
chmod 755 "$dir" "$dir"/{etc,log,run}

dd if=/dev/urandom of="$dir/etc/munge.key" bs=128 count=1 status=none
chmod 600 "$dir/etc/munge.key"
munged --force --socket="$dir/run/munge.socket" --key-file="$dir/etc/munge.key" --pid-file="$dir/run/munged.pid" \
  --log-file="$dir/log/munged.log" --seed-file="$dir/run/munged.seed"

start_accounting() {
  mariadb-install-db --no-defaults --auth-root-authentication-method=normal --user=root --datadir="$dir/mariadb" \
    --skip-test-db >"$dir/log/mariadb-install.log" 2>&1
  mariadbd --no-defaults --user=root --datadir="$dir/mariadb" --socket="$dir/run/mariadb.socket" --skip-networking \
    --pid-file="$dir/run/mariadb.pid" --innodb-buffer-pool-size=64M >"$dir/log/mariadb.log" 2>&1 &
  for _ in $(seq 300); do
    mariadb --no-defaults --socket="$dir/run/mariadb.socket" -e 'SELECT 1' >/dev/null 2>&1 && break
    sleep 0.2
  done
  mariadb --no-defaults --socket="$dir/run/mariadb.socket" -e \
    "CREATE DATABASE slurm_acct_db; CREATE USER slurm@localhost IDENTIFIED BY 'slurm'; GRANT ALL ON slurm_acct_db.* TO slurm@localhost;"
  cat >"$dir/etc/slurmdbd.conf" <<CONF
DbdHost=localhost
DbdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/run/slurmdbd.pid
CONF
  chmod 600 "$dir/etc/slurmdbd.conf"
}

if [[ -n $accounting ]]; then
  start_accounting
  storage="AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=$((port + 1))
AccountingStoragePass=$dir/run/munge.socket"
else
  storage="AccountingStorageType=accounting_storage/none"
fi
if [[ -n ${CONSTRAIN_MEMORY:-} ]]; then
  task_plugin=task/cgroup
  printf '%s\n' CgroupPlugin=cgroup/v1 ConstrainRAMSpace=yes ConstrainSwapSpace=yes >"$dir/etc/cgroup.conf"
fi
cat >"$dir/etc/slurm.conf" <<CONF
ClusterName=onebox
SlurmctldHost=localhost
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket,cred_expire=10
SlurmUser=root
SlurmctldPort=$port
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool/%n
SlurmctldPidFile=$dir/run/slurmctld.pid
SlurmdPidFile=$dir/run/slurmd-%n.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=${task_plugin:-task/none}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1,requeue_delay=1
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
$storage
MaxArraySize=${MAX_ARRAY_SIZE:-1001}
MinJobAge=3600
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=3
SlurmdParameters=config_overrides
SlurmdTimeout=6
GresTypes=gpu
NodeName=n[1-$nodes] NodeHostname=localhost Port=[$((port + 10))-$((port + 9 + nodes))] CPUs=$(nproc) RealMemory=64000 Gres=gpu:1 Feature=big State=UNKNOWN
PartitionName=cpu Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10
CONF
for i in $(seq "$nodes"); do echo "NodeName=n$i Name=gpu File=/dev/null"; done >"$dir/etc/gres.conf"
export SLURM_CONF="$dir/etc/slurm.conf"

wait_for() { # what, command...
  local what=$1
  shift
  for _ in $(seq 300); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.2
  done
  echo "start.sh: $what does not come up; see $dir/log" >&2
  exit 1
}

if [[ -n $accounting ]]; then
  MYSQL_UNIX_PORT="$dir/run/mariadb.socket" slurmdbd
  wait_for slurmdbd sacctmgr -n show cluster
  sacctmgr -i add cluster onebox >/dev/null 2>&1 || true
fi
slurmctld
for i in $(seq "$nodes"); do
  mkdir -p "$dir/spool/n$i"
  slurmd -N "n$i"
done
all_idle() { [[ $(sinfo -h -N -o '%N %T' | sort -u | grep -c idle) -ge $nodes ]]; }
wait_for "a node" all_idle
