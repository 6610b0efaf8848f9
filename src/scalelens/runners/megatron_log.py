"""What Megatron-LM prints: its arguments, its interval record and its timers, field for field as core 0.16 does."""
# mypy: ignore-errors

import logging
from datetime import datetime

import torch
from language_shapes import arguments_of
from runlog import RANK, WORLD
from torch import distributed

TIMERS = [
    "forward-backward", "forward-compute", "backward-compute", "batch-generator", "forward-recv", "forward-send",
    "backward-recv", "backward-send", "forward-send-forward-recv", "forward-send-backward-recv",
    "backward-send-forward-recv", "backward-send-backward-recv", "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce", "all-grads-sync", "params-all-gather", "optimizer-copy-to-main-grad",
    "optimizer-unscale-and-check-inf", "optimizer-clip-main-grad", "optimizer-count-zeros", "optimizer-inner-step",
    "optimizer-copy-main-to-model-params", "optimizer",
]  # fmt: skip


class MegatronLog:
    """Prints a record of the steps since the last record, from the last rank.

    Every rank must count its steps in: the losses of all are added up.
    """

    def __init__(self, args, timers, optimizer, data_parallel_group, say):
        self.args, self.timers, self.optimizer, self.say = args, timers, optimizer, say
        self.data_parallel_group, self.interval = data_parallel_group, Interval()
        if RANK == 0:
            say(argument_dump(args))
        if RANK == WORLD - 1:
            logger = logging.getLogger("megatron.core.timers")
            logger.addHandler(TimerHandler(say))
            logger.setLevel(logging.INFO)

    def add(self, step, loss, done, rate, grad_norm):
        """Counts a step in, and prints the record where it is due."""
        self.interval.add(loss, done)
        if step == 1 or step % self.args.log_interval == 0:
            self.print(step, rate, grad_norm)

    def print(self, step, rate, grad_norm):
        interval = self.interval
        if interval.loss is not None:
            loss = interval.loss / max(interval.done, 1)
            distributed.all_reduce(loss, group=self.data_parallel_group)
        first = step == 1  # Megatron-LM's second record holds the first step too
        step_s = self.timers("interval-time").elapsed(barrier=True, reset=not first) / interval.steps
        if RANK == WORLD - 1:
            scale, mean_loss = self.optimizer.get_loss_scale().item(), loss.item() / self.args.dp
            self.say(record(self.args, step, step_s, rate, mean_loss, scale, grad_norm, interval))
        if self.args.timing_log_level:
            self.timers.log(TIMERS, normalizer=self.args.log_interval, reset=not first)
        if not first:
            self.interval = Interval()


class Interval:
    """What a record says of the steps since the last one."""

    def __init__(self):
        self.steps, self.done, self.skipped, self.nan, self.loss = 0, 0, 0, 0, None

    def add(self, loss, done):
        """`loss` is None but on the last pipeline stage; a step that was not done was skipped."""
        self.steps, self.done, self.skipped = self.steps + 1, self.done + done, self.skipped + (not done)
        if loss is not None:
            self.nan += not torch.isfinite(loss).item()
            self.loss = (0.0 if self.loss is None else self.loss) + (loss if done else 0 * loss)


def record(args, step, step_s, rate, loss, scale, grad_norm, interval):
    """The line of Megatron-LM's training_log()."""
    fields = [
        f" [{datetime.now():%Y-%m-%d %H:%M:%S.%f}] iteration {step:8d}/{args.steps:8d}",
        f"consumed samples: {step * args.global_batch_size:12d}",
        f"elapsed time per iteration (ms): {step_s * 1000:.1f}",
        f"throughput per GPU (TFLOP/s/GPU): {tflops_per_device(args, step_s):.1f}",
        f"learning rate: {rate:.6E}",
        f"global batch size: {args.global_batch_size:5d}",
        *([f"lm loss: {loss:.6E}"] if interval.done else []),
        f"loss scale: {scale:.1f}",
        *([f"grad norm: {grad_norm:.3f}"] if grad_norm is not None else []),
        f"number of skipped iterations: {interval.skipped:3d}",
        f"number of nan iterations: {interval.nan:3d} |",
    ]
    return " | ".join(fields)


def argument_dump(args):
    """The sizes as Megatron-LM prints them at its start."""
    values = {
        **arguments_of(args.model), "fp16": args.precision == "fp16", "bf16": args.precision == "bf16",
        "global_batch_size": args.global_batch_size, "hidden_size": args.model.hidden,
        "log_interval": args.log_interval, "micro_batch_size": args.micro_batch_size,
        "num_attention_heads": args.model.heads, "num_layers": args.model.layers,
        "padded_vocab_size": args.vocabulary, "params_dtype": args.dtype, "pipeline_model_parallel_size": args.pp,
        "seq_length": args.seq_length, "sequence_parallel": args.sequence_parallel,
        "tensor_model_parallel_size": args.tp, "train_iters": args.steps,
        "use_distributed_optimizer": args.distributed_optimizer, "world_size": WORLD,
    }  # fmt: skip
    return "\n".join([
        f"using world size: {WORLD}, data-parallel size: {args.dp}, context-parallel size: 1, tensor-model-parallel "
        f"size: {args.tp}, pipeline-model-parallel size: {args.pp}",
        "------------------------ arguments ------------------------",
        *(f"  {name} {'.' * (48 - len(name))} {values[name]}" for name in sorted(values)),
        "-------------------- end of arguments ---------------------",
    ])  # fmt: skip


def tflops_per_device(args, step_s):
    return model_flops(args.model, args.vocabulary, args.global_batch_size) / (step_s * 1e12 * WORLD)


def model_flops(shape, vocabulary, sequences, causal=True):
    """Operations of a step, forward and backward: 6 for each weight that a token meets, and those of the attention.

    For a GPT that is 72 B s l h^2 (1 + s/6h + V/12lh), as Narayanan et al. 2021 count them without recomputation.
    Megatron-LM counts what a causal mask leaves: half of the attention, s/12h.  SwiGLU has three matrices for two.
    """
    hidden, tokens = shape.hidden, sequences * shape.seq_length
    attention = 1 + shape.query_groups / shape.heads + shape.seq_length / hidden * (0.5 if causal else 1)
    feed_forward = shape.ffn / hidden * (1.5 if shape.llama else 1) * (shape.experts_per_token or 1)
    return 12 * tokens * shape.layers * hidden**2 * (attention + feed_forward) + 6 * tokens * hidden * vocabulary


class TimerHandler(logging.Handler):
    """Sends megatron's timers where the records go, so that they stay in order."""

    def __init__(self, say):
        super().__init__()
        self.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        self.say = say

    def emit(self, record):
        self.say(self.format(record))
