"""The table of roles: what a column of a table of steps can be, the names that it has, and the units that it takes."""

from typing import NamedTuple

from scalelens.units import factors


class Role(NamedTuple):
    """What a column can be.  `kind` says which units it takes, `names` are those recognized, after `words_of`."""

    name: str
    kind: str
    meaning: str
    names: tuple[str, ...]


ROLES = (
    Role("step", "count", "step, counted through the run; one that restarts in each epoch is counted on", (
        "step", "global_step", "iteration", "iter", "it", "training_step", "step_num", "step_idx", "step_number",
        "iter_num", "optimizer_step", "opt_step", "global_iteration", "step_no", "iter_no", "current_step",
        "num_updates", "update", "updates", "upd", "up")),
    Role("batch", "count", "place of the batch in its epoch; counted on through the run where no column is the step", (
        "batch", "batch_idx", "batch_index", "batch_id", "batch_num", "batch_number", "batch_no", "step_in_epoch",
        "batch_in_epoch", "iter_in_epoch", "minibatch", "mini_batch")),
    Role("batches", "count", "batches in an epoch, where the batch restarts in each", (
        "batches_per_epoch", "steps_per_epoch", "iters_per_epoch", "iterations_per_epoch")),
    Role("epoch", "number", "epoch, as the table counts it", ("epoch", "epoch_num", "epoch_idx", "current_epoch")),
    Role("batch_time", "time", "time of this one step", (
        "step_time", "batch_time", "iter_time", "iteration_time", "minibatch_time", "time_per_step", "time_per_batch",
        "time_per_iter", "time_per_iteration", "time_per_it", "time_per_b", "per_step_time", "per_iteration_time",
        "per_batch_time", "step_duration", "batch_duration", "iter_duration",
        "iteration_duration", "step_elapsed", "batch_elapsed", "step_runtime", "batch_runtime", "step_latency",
        "iteration_latency", "elapsed_time_per_iteration", "elapsed_per_step", "dt", "iter_dt", "step_dt", "batch_dt",
        "t_step", "t_batch", "t_iter", "batchtime", "itertime", "steptime",
        "total_step_time", "total_iter_time")),
    Role("interval_time", "time",
        "time per step, a mean over the steps since the record before: torchtitan's, else only with --map", (
        "time_metrics_end_to_end",)),
    Role("averaged_steps", "count",
        "steps that interval_time is a mean of, or span_time the time of; else those since the record before", ()),
    Role("running_time", "time", "time per step, a running mean over the steps before it, as progress bars show it", (
        "running_step_time", "running_time_per_step")),
    Role("span_time", "time", "time of all steps since the record before, which is divided among them", ()),
    Role("elapsed", "time", "time since the start: its differences are times per step, means of the steps between", (
        "elapsed", "elapsed_time", "time_elapsed", "total_time", "cumulative_time", "cum_time", "time_since_start",
        "since_start", "relative_time", "total_elapsed", "total_elapsed_time", "runtime", "run_time", "total_runtime",
        "wallclock", "wallclock_time", "wall_clock_time", "elapsed_wall_time", "total_training_time",
        "total_train_time", "uptime")),
    Role("data_time", "time", "time of the step spent waiting for data", (
        "data_time", "dataloader_time", "data_loading_time", "dataload_time", "data_load_time", "data_wait",
        "data_wait_time", "t_data", "load_time")),
    Role("epoch_time", "time", "time of a whole epoch", (
        "epoch_time", "epoch_duration", "time_per_epoch", "epoch_took", "this_epoch_took", "epoch_elapsed",
        "time_for_epoch", "time_of_epoch", "time_taken_for_epoch", "epoch_complete_in", "epoch_completed_in",
        "epoch_finished_in", "epoch_done_in", "epoch_runtime", "time_spent_in_epoch", "time_spent_on_epoch",
        "time_taken_by_epoch", "time_this_epoch", "this_epoch_time", "time_of_this_epoch", "time_for_this_epoch",
        "epoch_time_cost", "epoch_cost_time", "epoch_spend_time", "epoch_spent_time", "epoch_used_time", "epoch_cost",
        "cost_time_of_epoch", "time_cost_of_epoch",
        "time_one_epoch", "one_epoch_time", "time_each_epoch", "each_epoch_time", "epoch_time_taken",
        "epoch_time_elapsed", "epochtime", "elapsed_time_of_epoch", "elapsed_time_for_epoch", "run_time_of_epoch",
        "total_time_for_epoch")),
    Role("timestamp", "stamp", "time of the record: seconds to nanoseconds since 1970, or as ISO 8601", (
        "timestamp", "time_stamp", "datetime", "date_time", "ts", "date", "created_at", "logged_at")),
    Role("samples_per_s", "rate", "samples per second, of the whole job or of one rank", ()),
    Role("tokens_per_s", "rate", "tokens per second: a metric under its own name", ()),
    Role("loss", "number", "training loss", ("loss", "lm_loss", "training_loss", "loss_train")),
    Role("accuracy", "fraction", "top-1 accuracy", (
        "accuracy", "acc", "top1", "top_1", "acc1", "acc@1", "prec@1", "accuracy_top1", "acc_top1", "top1_acc",
        "top1_accuracy")),
    Role("learning_rate", "number", "learning rate", ("learning_rate", "lr")),
    Role("grad_norm", "number", "gradient norm", ("grad_norm", "gradient_norm")),
    Role("peak_memory", "bytes", "largest memory of the device so far", (
        "peak_memory", "max_memory", "peak_mem", "max_mem", "peak_gpu_memory", "gpu_peak_memory", "gpu_memory_peak",
        "max_gpu_memory", "max_memory_allocated", "peak_memory_allocated", "peak_allocated", "max_allocated",
        "peak_gpu_mem", "max_gpu_mem")),
    Role("tflops_per_device", "number", "TFLOP/s per device", (
        "tflops_per_device", "tflops_per_gpu", "tflop_per_s_per_gpu", "tflops_per_s_per_gpu")),
    Role("rank", "count", "global rank", ("rank", "global_rank", "world_rank", "mpi_rank")),
    Role("place", "text", "local rank, device or host, where no column is the global rank", (
        "local_rank", "gpu", "gpu_id", "device_id", "host", "hostname", "node_name", "worker")),
    Role("phase", "text", "train, validation or warmup; a table without it is taken for training", (
        "phase", "split", "mode", "stage")),
    Role("run", "text", "label of the run; another label is another run", (
        "run", "run_id", "run_name", "experiment", "exp_name", "experiment_name", "trial")),
    Role("devices", "count", "devices; another number is another run", (
        "devices", "world_size", "num_gpus", "n_gpus", "ngpus", "gpus", "gpu_count", "num_devices", "n_devices",
        "ranks", "num_ranks", "n_ranks", "nranks", "gpu_num", "total_gpus", "number_of_gpus", "gcds",
         "num_gcds", "n_gcds", "accelerators", "num_accelerators", "npus", "num_npus", "hpus",
        "num_hpus", "num_chips")),
    Role("nodes", "count", "nodes; another number is another run", (
        "nodes", "num_nodes", "n_nodes", "nnodes", "node_count")),
    Role("devices_per_node", "count", "devices per node", (
        "devices_per_node", "gpus_per_node", "ngpus_per_node", "num_gpus_per_node", "local_world_size",
        "gcds_per_node", "accelerators_per_node")),
    Role("model", "text", "model; another model is another run", ("model", "model_name", "arch", "architecture")),
    Role("precision", "text", "precision; another precision is another run", ("precision", "dtype")),
    Role("dataset", "text", "data set", ("dataset", "dataset_name", "data_set")),
    Role("system", "text", "machine", ("system", "cluster", "machine")),
    Role("device_model", "text", "model of the device", ("device_name", "gpu_name", "gpu_model", "device_model")),
    Role("global_batch_size", "count", "samples per step over all devices", (
        "global_batch_size", "total_batch_size", "effective_batch_size", "global_batch", "batch_size_global",
        "gbs", "global_bs")),
    Role("micro_batch_size", "count", "samples per device and forward pass", (
        "micro_batch_size", "micro_batch", "batch_size_per_gpu", "batch_size_per_device", "per_device_batch_size",
        "per_gpu_batch_size", "local_batch_size", "batch_per_gpu", "batch_size_per_rank",
        "mbs", "local_bs", "batch_per_device", "batch_size_per_gcd", "batch_per_gcd", "per_device_train_batch_size",
        "micro_batch_size_per_gpu")),
    Role("seq_length", "count", "tokens per sample", ("seq_length", "seq_len", "sequence_length", "seqlen")),
    Role("job_id", "text", "scheduler's job id", ("job_id", "slurm_job_id", "jobid")),
    Role("energy", "energy", "energy of what a row measures; only with --map, where a name says no unit", ()),
)  # fmt: skip
BY_NAME = {name: role for role in ROLES for name in role.names}
ROLE = {role.name: role for role in ROLES}

UNITS_OF_KIND: dict[str, dict[str, float]] = {
    "time": factors("s", "ms", "us", "ns", "min", "h"),
    "fraction": factors("%") | {"1": 1.0},
    "bytes": factors("bytes", "KiB", "MiB", "GiB", "KB", "MB", "GB"),
    "energy": factors("J", "kJ", "Wh", "kWh"),
    "rate": {"global": 1.0, "rank": 1.0},
}
UNSURE = ("KB", "MB", "GB")  # half of those who write these mean powers of two: only --map can say which
