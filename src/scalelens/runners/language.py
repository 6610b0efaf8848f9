"""GPT, Llama and a mixture of experts on megatron-core 0.16 or 0.19: data, tensor, pipeline and sequence
parallel.  Needs only torch and megatron-core.

Two CPU ranks      torchrun --standalone --nproc_per_node 2 language.py --device cpu --tp 2 --out runs/tp2
Four GPUs          torchrun --standalone --nproc_per_node 4 language.py --shape 857m --precision bf16 --out runs/n4
Slurm, 64 nodes    srun --ntasks-per-node 1 torchrun --nnodes 64 --nproc_per_node 4 --rdzv_backend c10d
                        --rdzv_id $SLURM_JOB_ID --rdzv_endpoint HOST:29400 language.py --shape 175b --precision bf16
                        --tp 4 --sequence-parallel --pp 16 --distributed-optimizer --recompute
                        --global-batch-size 1024 --out runs/n64

The last rank prints Megatron-LM's interval record and timers.  Rank R writes rankR.log, a line for each step, and
trace_rankR.json.gz, by Kineto.  `scalelens ingest runs` reads all of them.
"""
# mypy: ignore-errors

import argparse
import importlib.util
import os
import time
from pathlib import Path

STARTED = time.perf_counter()  # before torch: its import is most of the start on a busy shared file system

import torch  # noqa: E402
from language_data import MicroBatches  # noqa: E402
from language_shapes import SHAPES, arguments_of  # noqa: E402
from measuring import DeviceClock, clock, profiler, use_device, warmup_steps  # noqa: E402
from megatron_log import MegatronLog, tflops_per_device  # noqa: E402
from runlog import LOCAL_WORLD, RANK, WORLD, add_place, checked, device, ending, facts, open_log  # noqa: E402
from torch import distributed  # noqa: E402

GPUS = torch.cuda.device_count()
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="857m" if GPUS else "toy")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    # How the devices share the work: tensor, pipeline, and data parallel with what is left
    parser.add_argument("--tp", type=int, default=1, help="tensor parallel size")
    parser.add_argument("--pp", type=int, default=1, help="pipeline parallel size")
    parser.add_argument("--sequence-parallel", action="store_true", help="needs Transformer Engine or Apex")
    parser.add_argument("--distributed-optimizer", action="store_true", help="data parallel ranks share its state")
    parser.add_argument("--recompute", action="store_true", help="compute activations again in the backward pass")
    # How much: micro-batches of a step
    parser.add_argument("--micro-batch-size", type=int, default=1)
    batch = parser.add_mutually_exclusive_group()
    batch.add_argument("--accumulation", type=int, default=1, help="micro-batches of a step: weak scaling")
    batch.add_argument("--global-batch-size", type=int, help="sequences over all devices: strong scaling")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--warmup-steps", type=int, default=5, help="first steps, marked `warmup`")
    # Data and weights
    parser.add_argument("--data", type=Path, help="indexed data set: PREFIX of PREFIX.bin and .idx; else synthetic")
    parser.add_argument("--load", type=Path, help="weights to start from: a torch_dist checkpoint (.../iter_0000100)")
    parser.add_argument("--save", type=Path, help="folder for the weights at the end")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=1234)
    # What is measured
    parser.add_argument("--log-interval", type=int, default=1, help="steps of a record")
    parser.add_argument(
        "--timing-log-level", type=int, default=0, help="1 or 2: megatron's timers, which wait more often"
    )
    parser.add_argument("--profile-steps", type=int, default=5, help="traced within the warm-up; 0: no trace")
    add_place(parser, "language", GPUS)
    return parser


def arguments():
    parser = options()
    args = parser.parse_args()
    args.dp, rest = divmod(WORLD, args.tp * args.pp)
    if rest or not args.dp:
        parser.error(f"{WORLD} devices are not a multiple of --tp {args.tp} times --pp {args.pp}")
    args.model = SHAPES[args.shape]
    args.seq_length = args.model.seq_length
    if args.model.layers % args.pp:
        parser.error(f"{args.model.layers} layers cannot be shared equally by --pp {args.pp}")
    if args.model.query_groups % args.tp:
        parser.error(f"{args.model.query_groups} heads of keys cannot be shared equally by --tp {args.tp}")
    if args.model.experts and args.tp > 1 and not args.sequence_parallel:
        parser.error("megatron-core trains a mixture of experts with --tp only beside --sequence-parallel")
    args.vocabulary = -(-args.model.vocabulary // (128 * args.tp)) * 128 * args.tp  # as Megatron-LM pads it
    args.dtype = PRECISIONS[args.precision]
    args.scaling = "strong" if args.global_batch_size else "weak"
    at_once = args.micro_batch_size * args.dp
    args.global_batch_size = args.global_batch_size or args.accumulation * at_once
    args.accumulation, rest = divmod(args.global_batch_size, at_once)
    if rest or not args.accumulation:
        parser.error(
            f"a global batch of {args.global_batch_size} is not a multiple of {at_once}, one micro-batch a replica"
        )
    if args.sequence_parallel and args.tp == 1:
        parser.error("--sequence-parallel shares a sequence among tensor parallel ranks: it needs --tp 2 or more")
    if args.device == "cpu" and (args.precision != "fp32" or args.sequence_parallel or args.distributed_optimizer):
        parser.error("megatron-core needs GPUs for bf16, fp16, sequence parallel and the distributed optimizer")
    if args.save and importlib.util.find_spec("psutil") is None:
        parser.error("--save needs psutil: without it megatron-core's writers die and the job waits for ever")
    args.warmup_steps = warmup_steps(args)
    return args


def main():
    args = checked(arguments())
    log, say = open_log(args.out / f"rank{RANK}.log")
    with ending(log):
        run(args, log, say)


def run(args, log, say):
    set_up_distributed(args)
    from language_model import build, load_weights, save_weights  # not before megatron is set up for the CPU
    from megatron.core import parallel_state
    from megatron.core.timers import Timers

    timers = Timers(args.timing_log_level, "minmax")
    model, optimizer, rates = build(args, timers)
    log("run", **settings(args, model))
    log("facts", **facts())
    megatron_log = MegatronLog(args, timers, optimizer, parallel_state.get_data_parallel_group(), say)
    if args.load:
        start = clock()
        load_weights(args.load, model, optimizer)
        log("phase", phase="checkpoint", step=0, span_s=clock() - start)
    batches = MicroBatches(args, parallel_state.get_data_parallel_rank())
    with profiler(args, args.steps) as tracer:
        train(args, model, optimizer, rates, batches, timers, megatron_log, tracer, log)
    if args.save:
        start = clock()
        save_weights(args.save, model)
        log("phase", phase="checkpoint", step=args.steps, span_s=clock() - start)
    distributed.destroy_process_group()


def set_up_distributed(args):
    use_device(args.device == "cuda")
    if args.device == "cpu":
        import megatron_on_cpu

        megatron_on_cpu.prepare()
    from megatron.core import parallel_state, tensor_parallel

    alone = {}
    if "RANK" not in os.environ:  # torchrun did not start this: one process by itself
        alone = {"store": distributed.HashStore(), "rank": 0, "world_size": 1}
    distributed.init_process_group("nccl" if args.device == "cuda" else "gloo", **alone)
    parallel_state.initialize_model_parallel(args.tp, args.pp)
    torch.manual_seed(args.seed)
    tensor_parallel.model_parallel_cuda_manual_seed(args.seed)


def settings(args, model):
    """What the log says of the whole run."""
    import megatron.core
    from language_model import count_parameters, layer_spec

    return {
        "framework": "megatron-lm", "framework_version": f"core {megatron.core.__version__}",
        "model": args.shape if args.model.llama else f"gpt-{args.shape}", "parameters": count_parameters(model),
        "precision": args.precision,
        "dataset": args.data.name if args.data else "synthetic", "scaling": args.scaling,
        "num_layers": args.model.layers, "hidden_size": args.model.hidden, "num_attention_heads": args.model.heads,
        **arguments_of(args.model),
        "seq_length": args.seq_length, "padded_vocab_size": args.vocabulary, "micro_batch_size": args.micro_batch_size,
        "accumulation": args.accumulation, "global_batch_size": args.global_batch_size,
        "tp": args.tp, "pp": args.pp, "dp": args.dp, "cp": 1, "sequence_parallel": args.sequence_parallel,
        "distributed_optimizer": args.distributed_optimizer, "recompute": args.recompute,
        "layer_spec": layer_spec(args), "log_interval": args.log_interval, "nodes": WORLD // LOCAL_WORLD,
        "devices": WORLD, "devices_per_node": LOCAL_WORLD, **device(args.device == "cuda"),
        "threads": torch.get_num_threads(), "warmup_steps": args.warmup_steps, "seed": args.seed,
    }  # fmt: skip


def train(args, model, optimizer, rates, batches, timers, megatron_log, tracer, log):
    from language_model import forward_backward

    device_clock = DeviceClock(args.device == "cuda")
    model.train()
    log("phase", phase="startup", step=0, span_s=clock() - STARTED)
    begin = clock()
    timers("interval-time", log_level=0).start(barrier=True)
    for step in range(1, args.steps + 1):
        timers("interval-time").stop()  # writing the trace is not part of a step
        tracer.step()  # the trace calls what follows ProfilerStep#{step}
        timers("interval-time").start()
        start, batches.waited_s = clock(), 0.0
        device_clock.start()
        model.zero_grad_buffer()
        optimizer.zero_grad()
        parts = forward_backward(args, model, batches)
        timers("optimizer", log_level=1).start(barrier=True)
        done, grad_norm, _ = optimizer.step()  # not done: fp16 overflowed, and the step is skipped
        timers("optimizer").stop()
        if done:
            rates.step(increment=args.global_batch_size)
        device_clock.stop()
        device_clock.synchronise()  # note: the host cannot run ahead of the device
        step_s = clock() - start
        loss = sum(part["lm loss"] for part in parts) / len(parts) if parts else None  # the last stage alone has one
        rate = optimizer.param_groups[0]["lr"]
        log(
            "step", phase="warmup" if step <= args.warmup_steps else "train", step=step, step_s=step_s,
            data_s=batches.waited_s, device_s=device_clock.seconds(), loss=None if loss is None else loss.item(),
            samples=args.global_batch_size, tokens=args.global_batch_size * args.seq_length,
            tflops_per_device=tflops_per_device(args, step_s), learning_rate=rate, grad_norm=grad_norm,
            skipped_steps=None if done else 1,
        )  # fmt: skip
        megatron_log.add(step, loss, done, rate, grad_norm)
    log("phase", phase="train", step=args.steps, span_s=clock() - begin, samples=args.steps * args.global_batch_size)


if __name__ == "__main__":
    main()
