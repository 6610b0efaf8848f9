#!/bin/bash@shell_option@
# @title@, by scalelens bench @version@
@notes@
@sources@
#SBATCH --job-name=@workload@-@name@
#SBATCH --output=@out@/@name@/%x-%j.out
#SBATCH --nodes=@nodes@
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=@time@
@account@
@partition@
@system_options@
@gpu_option@
@cores@

set -euo pipefail
@devices@
@threads@
@environment@
@network_hint@
@staging@
@container@
python="${PYTHON:-python3}"
runners=@runners@
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)@address_suffix@
echo "SLURM_JOB_ID=$SLURM_JOB_ID"

srun --ntasks-per-node=1 --kill-on-bad-exit=1@srun_options@ bash -c "export PET_NODE_RANK=\$SLURM_PROCID; exec \"\$@\"" node \
@in_container@
@power_sampler@
    "$python" -m torch.distributed.run --nnodes @nodes@ --rdzv_backend static --rdzv_id "$SLURM_JOB_ID" \
    --master_addr "$head" --master_port "$((29000 + SLURM_JOB_ID % 1000))" --nproc_per_node "$devices" \
    "$runners/@workload@.py" @runner_options@
