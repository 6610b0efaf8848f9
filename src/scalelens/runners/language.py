"""GPT on megatron-core 0.16: data, tensor, pipeline and sequence parallel.  Needs torch and megatron-core alone.

Two CPU ranks      torchrun --standalone --nproc_per_node 2 language.py --device cpu --tp 2 --out runs/tp2
Four GPUs          torchrun --standalone --nproc_per_node 4 language.py --shape 857m --precision bf16 --out runs/n4
Slurm, 64 nodes    srun --ntasks-per-node 1 torchrun --nnodes 64 --nproc_per_node 4 --rdzv_backend c10d
                        --rdzv_id $SLURM_JOB_ID --rdzv_endpoint HOST:29400 language.py --shape 175b --precision bf16
                        --tp 4 --sequence-parallel --pp 16 --distributed-optimizer --recompute
                        --global-batch-size 1024 --out runs/n64

Prints Megatron-LM's interval record and timers, from the last rank.  Rank R leaves rankR.log, a line for each step, and
trace_rankR.json.gz, by Kineto: `scalelens ingest runs` reads all of them.
"""
# mypy: ignore-errors

import argparse
import importlib.util
import itertools
import logging
import os
import time
from datetime import datetime
from pathlib import Path

STARTED = time.perf_counter()  # before torch: its import is most of the start on a busy shared file system

import torch  # noqa: E402
from runlog import LOCAL_RANK, LOCAL_WORLD, RANK, WORLD, device, facts, open_log  # noqa: E402
from torch import distributed  # noqa: E402

GPUS = torch.cuda.device_count()
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
# Layers, hidden size, heads, tokens of a sequence, vocabulary.
SHAPES = {
    "toy": (4, 64, 4, 64, 512),
    "857m": (40, 1280, 20, 4096, 50257),
    "175b": (96, 12288, 96, 2048, 51200),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="857m" if GPUS else "toy")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    # How the devices share the work: tensor, pipeline, and data parallel with what is left
    parser.add_argument("--tp", type=int, default=1, help="tensor parallel size")
    parser.add_argument("--pp", type=int, default=1, help="pipeline parallel size")
    parser.add_argument("--sequence-parallel", action="store_true", help="needs Transformer Engine or Apex")
    parser.add_argument("--distributed-optimizer", action="store_true", help="its state shared by the data parallel")
    parser.add_argument("--recompute", action="store_true", help="activations again in the backward pass")
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
        "--timing-log-level", type=int, default=0, help="1, 2: megatron's timers, which wait more often"
    )
    parser.add_argument("--profile-steps", type=int, default=2, help="traced within the warm-up; 0: no trace")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if GPUS else "cpu")
    parser.add_argument("--out", type=Path, required=True, help="folder for logs and traces; a restart adds to it")
    args = parser.parse_args()
    args.dp, left = divmod(WORLD, args.tp * args.pp)
    if left or not args.dp:
        parser.error(f"{WORLD} devices are no multiple of --tp {args.tp} times --pp {args.pp}")
    args.layers, args.hidden, args.heads, args.seq_length, vocabulary = SHAPES[args.shape]
    if args.layers % args.pp or args.heads % args.tp:
        parser.error(
            f"{args.layers} layers by --pp {args.pp}, {args.heads} heads by --tp {args.tp}: not without a rest"
        )
    args.vocabulary = -(-vocabulary // (128 * args.tp)) * 128 * args.tp  # as Megatron-LM pads it
    args.scaling, at_once = ("strong" if args.global_batch_size else "weak"), args.micro_batch_size * args.dp
    args.global_batch_size = args.global_batch_size or args.accumulation * at_once
    args.accumulation, left = divmod(args.global_batch_size, at_once)
    if left or not args.accumulation:
        parser.error(
            f"a global batch of {args.global_batch_size} is no multiple of {at_once}, one micro-batch a replica"
        )
    if args.device == "cpu" and (args.precision != "fp32" or args.sequence_parallel or args.distributed_optimizer):
        parser.error("megatron-core needs GPUs for bf16, fp16, sequence parallel and the distributed optimizer")
    if args.save and importlib.util.find_spec("psutil") is None:
        parser.error("--save needs psutil: without it megatron-core's writers die and the job waits for ever")
    # Traced steps are slower, and the one after them waits for the slowest writer: no statistic may use them.
    args.warmup_steps = max(args.warmup_steps, args.profile_steps + 1 if args.profile_steps else 0)
    return args


def model_flops(layers, hidden, seq_length, vocabulary, sequences, causal=True):
    """Operations of a step, forward and backward: 72 B s l h^2 (1 + s/6h + V/12lh), as Narayanan et al. 2021 count them
    without recomputation.  Megatron-LM's record now counts what a causal mask leaves: half of the attention, s/12h."""
    attention = seq_length / (12 * hidden) if causal else seq_length / (6 * hidden)
    logits = vocabulary / (12 * layers * hidden)
    return 72 * sequences * seq_length * layers * hidden**2 * (1 + attention + logits)


def build(args, gpu, timers):
    """The model, wrapped for data parallel, its optimizer and its learning rates."""
    from megatron.core import parallel_state
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
    from megatron.core.models.gpt import GPTModel, gpt_layer_specs
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
    from megatron.core.transformer import TransformerConfig
    from megatron.core.transformer.module import Float16Module

    half = {"bf16": args.precision == "bf16", "fp16": args.precision == "fp16"}
    engine = gpu and importlib.util.find_spec("transformer_engine") is not None
    config = TransformerConfig(
        num_layers=args.layers, hidden_size=args.hidden, num_attention_heads=args.heads,
        tensor_model_parallel_size=args.tp, pipeline_model_parallel_size=args.pp,
        sequence_parallel=args.sequence_parallel, pipeline_dtype=PRECISIONS[args.precision],
        params_dtype=PRECISIONS[args.precision], **half, attention_dropout=0.0, hidden_dropout=0.0,
        **({"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
           if args.recompute else {}), use_cpu_initialization=not gpu, masked_softmax_fusion=False,
        bias_activation_fusion=gpu, bias_dropout_fusion=gpu, gradient_accumulation_fusion=False, timers=timers,
    )  # fmt: skip
    layer = (
        gpt_layer_specs.get_gpt_layer_with_transformer_engine_spec
        if engine
        else gpt_layer_specs.get_gpt_layer_local_spec
    )
    model = GPTModel(
        config, layer(), args.vocabulary, args.seq_length,
        pre_process=parallel_state.is_pipeline_first_stage(), post_process=parallel_state.is_pipeline_last_stage(),
        share_embeddings_and_output_weights=True,
    ).to(args.device)  # fmt: skip
    if args.precision != "fp32":
        model = Float16Module(config, model)
    wrapping = DistributedDataParallelConfig(
        use_distributed_optimizer=args.distributed_optimizer, overlap_grad_reduce=gpu and args.pp == 1,
        grad_reduce_in_fp32=args.precision == "bf16",
    )  # fmt: skip
    model = DistributedDataParallel(config, wrapping, model)
    model.broadcast_params()
    learning = OptimizerConfig(
        optimizer="adam", lr=args.lr, min_lr=args.lr / 10, weight_decay=0.01, clip_grad=1.0, **half,
        params_dtype=PRECISIONS[args.precision], use_distributed_optimizer=args.distributed_optimizer, timers=timers,
    )  # fmt: skip
    optimizer = get_megatron_optimizer(learning, [model])
    samples = args.steps * args.global_batch_size
    rates = OptimizerParamScheduler(
        optimizer, init_lr=0.0, max_lr=args.lr, min_lr=args.lr / 10, lr_warmup_steps=0, lr_decay_steps=samples,
        lr_decay_style="cosine", start_wd=0.01, end_wd=0.01, wd_incr_steps=samples, wd_incr_style="constant",
    )  # fmt: skip
    config.finalize_model_grads_func, config.grad_scale_func = finalize_model_grads, optimizer.scale_loss
    config.no_sync_func = model.no_sync
    return model, optimizer, rates, "transformer_engine" if engine else "local"


def samples(args):
    """A function that gives sequence k, of one token more than the model reads."""
    if args.data is None:

        def count(k):  # counts on from anywhere: a rule that a model can learn
            start = torch.randint(args.vocabulary, (1,), generator=torch.Generator().manual_seed(args.seed + k))
            return (start + torch.arange(args.seq_length + 1)) % args.vocabulary

        return count
    import numpy
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
    from megatron.core.datasets.indexed_dataset import IndexedDataset
    from megatron.core.datasets.utils import Split

    class Tokens:  # GPTDataset asks a tokenizer, though all is tokens already
        unique_identifiers, eod, pad, vocab_size = {"tokenizer": "none"}, -1, -1, args.vocabulary

    config = GPTDatasetConfig(
        random_seed=args.seed, sequence_length=args.seq_length, tokenizer=Tokens(), split="1", reset_position_ids=False,
        reset_attention_mask=False, eod_mask_loss=False, create_attention_mask=False,
        path_to_cache=str(args.out / "cache"),
    )  # fmt: skip
    for turn in (RANK == 0, RANK != 0):  # the first writes the index, the others find it
        if turn:
            indexed = IndexedDataset(str(args.data), multimodal=False, mmap=True)
            documents = numpy.arange(len(indexed.document_indices) - 1, dtype=numpy.int32)
            count = args.steps * args.global_batch_size
            dataset = GPTDataset(indexed, str(args.data), documents, count, Split.train, config)
        distributed.barrier()

    def read(k):
        sample = dataset[k]
        return torch.cat([sample["tokens"], sample["labels"][-1:]])

    return read


def micro_batches(args, sample, replica):
    """Endless micro-batches of a replica, dealt out as Megatron-LM does: the same work whatever the devices."""
    size = args.micro_batch_size
    positions = torch.arange(args.seq_length, device=args.device).expand(size, -1)
    mask = torch.ones(1, 1, args.seq_length, args.seq_length, dtype=torch.bool, device=args.device).triu(1)
    for k in itertools.count(replica, args.dp):
        text = torch.stack([sample(n) for n in range(k * size, (k + 1) * size)]).to(args.device, non_blocking=True)
        yield text[:, :-1].contiguous(), positions, mask, text[:, 1:].contiguous()


def main():
    args, clock = arguments(), time.perf_counter
    log, say = open_log(args.out / f"rank{RANK}.log")
    if gpu := args.device == "cuda":
        torch.cuda.set_device(LOCAL_RANK % GPUS)  # Slurm may show each task one GPU, as number 0
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    else:
        import megatron_on_cpu

        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // LOCAL_WORLD))
        megatron_on_cpu.prepare()
    import megatron.core
    from megatron.core import dist_checkpointing, parallel_state, tensor_parallel
    from megatron.core.pipeline_parallel import get_forward_backward_func
    from megatron.core.timers import Timers

    synchronise = torch.cuda.synchronize if gpu else lambda: None
    alone = {} if "RANK" in os.environ else {"store": distributed.HashStore(), "rank": 0, "world_size": 1}
    distributed.init_process_group("nccl" if gpu else "gloo", **alone)
    parallel_state.initialize_model_parallel(args.tp, args.pp)
    torch.manual_seed(args.seed)
    tensor_parallel.model_parallel_cuda_manual_seed(args.seed)
    timers = Timers(args.timing_log_level, "minmax")
    model, optimizer, rates, layers = build(args, gpu, timers)
    log(
        "run", framework="megatron-lm", framework_version=f"core {megatron.core.__version__}",
        model=f"gpt-{args.shape}", parameters=count_parameters(model), precision=args.precision,
        dataset=args.data.name if args.data else "synthetic", scaling=args.scaling,
        num_layers=args.layers, hidden_size=args.hidden, num_attention_heads=args.heads, seq_length=args.seq_length,
        padded_vocab_size=args.vocabulary, micro_batch_size=args.micro_batch_size, accumulation=args.accumulation,
        global_batch_size=args.global_batch_size, tp=args.tp, pp=args.pp, dp=args.dp, cp=1,
        sequence_parallel=args.sequence_parallel, distributed_optimizer=args.distributed_optimizer,
        recompute=args.recompute, layer_spec=layers, log_interval=args.log_interval, nodes=WORLD // LOCAL_WORLD,
        devices=WORLD, devices_per_node=LOCAL_WORLD, **device(gpu), threads=torch.get_num_threads(),
        warmup_steps=args.warmup_steps, seed=args.seed,
    )  # fmt: skip
    log("facts", **facts())
    if RANK == 0:
        say(dump(args))
    if RANK == WORLD - 1:
        logging.getLogger("megatron.core.timers").addHandler(Handler(say))
        logging.getLogger("megatron.core.timers").setLevel(logging.INFO)
    if args.load:
        start, shards = clock(), {"model": model.module.sharded_state_dict()}
        model.module.load_state_dict(dist_checkpointing.load(shards, str(args.load))["model"])
        optimizer.reload_model_params()
        log("phase", phase="checkpoint", step=0, span_s=clock() - start)

    waited = 0.0

    def forward(batches, model):
        nonlocal waited
        start = clock()
        tokens, positions, mask, labels = next(batches)
        waited += clock() - start
        losses = model(tokens, positions, mask, labels=labels)
        return losses, lambda losses: (losses.float().mean(), {"lm loss": losses.detach().float().mean()})

    forward_backward = get_forward_backward_func()
    batches = micro_batches(args, samples(args), parallel_state.get_data_parallel_rank())
    idle = args.warmup_steps - args.profile_steps - 1 if args.profile_steps else args.steps + 1
    tracer = torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=idle, warmup=1, active=max(args.profile_steps, 1), repeat=1),
        on_trace_ready=lambda tracer: tracer.export_chrome_trace(str(args.out / f"trace_rank{RANK}.json.gz")),
    )
    operations = model_flops(args.layers, args.hidden, args.seq_length, args.vocabulary, args.global_batch_size)
    interval = Interval()
    model.train()
    tracer.start()
    log("phase", phase="startup", step=0, span_s=clock() - STARTED)
    trained = clock()
    timers("interval-time", log_level=0).start(barrier=True)
    for step in range(1, args.steps + 1):
        timers("interval-time").stop()  # writing the trace is no part of a step
        tracer.step()  # the trace calls what follows ProfilerStep#{step}
        timers("interval-time").start()
        start, waited = clock(), 0.0
        if gpu:
            begun.record()
        model.zero_grad_buffer()
        optimizer.zero_grad()
        parts = forward_backward(
            forward_step_func=forward, data_iterator=batches, model=model, num_microbatches=args.accumulation,
            seq_length=args.seq_length, micro_batch_size=args.micro_batch_size,
        )  # fmt: skip
        timers("optimizer", log_level=1).start(barrier=True)
        done, grad_norm, _ = optimizer.step()
        timers("optimizer").stop()
        if done:
            rates.step(increment=args.global_batch_size)
        if gpu:
            ended.record()
        synchronise()
        step_s = clock() - start
        loss = sum(part["lm loss"] for part in parts) / len(parts) if parts else None  # the last stage alone has one
        rate, tokens = optimizer.param_groups[0]["lr"], args.global_batch_size * args.seq_length
        log(
            "step", phase="warmup" if step <= args.warmup_steps else "train", step=step, step_s=step_s, data_s=waited,
            device_s=begun.elapsed_time(ended) / 1e3 if gpu else None, loss=None if loss is None else loss.item(),
            samples=args.global_batch_size, tokens=tokens, tflops_per_device=operations / (step_s * 1e12 * WORLD),
            learning_rate=rate, grad_norm=grad_norm,
            skipped_steps=None if done else 1,
        )  # fmt: skip
        interval.add(loss, done)
        if step == 1 or step % args.log_interval == 0:
            if loss is not None:
                mean = interval.loss / max(interval.done, 1)
                distributed.all_reduce(mean, group=parallel_state.get_data_parallel_group())
            elapsed = timers("interval-time").elapsed(barrier=True, reset=step > 1) / interval.steps
            if RANK == WORLD - 1:
                scale = optimizer.get_loss_scale().item()
                say(record(args, step, elapsed, operations, rate, mean.item() / args.dp, scale, grad_norm, interval))
            if args.timing_log_level:
                timers.log(TIMERS, normalizer=args.log_interval, reset=step > 1)
            if step > 1:  # Megatron-LM's second record holds the first step too
                interval = Interval()
    log("phase", phase="train", step=args.steps, span_s=clock() - trained, samples=args.steps * args.global_batch_size)
    tracer.stop()
    if args.save:
        start = clock()
        args.save.mkdir(parents=True, exist_ok=True)
        dist_checkpointing.save({"model": model.module.sharded_state_dict()}, str(args.save))
        log("phase", phase="checkpoint", step=args.steps, span_s=clock() - start)
    distributed.destroy_process_group()
    log("end", outcome="completed")


class Interval:
    """What a record says of the steps since the last one."""

    def __init__(self):
        self.steps, self.done, self.skipped, self.nan, self.loss = 0, 0, 0, 0, 0.0

    def add(self, loss, done):
        self.steps, self.done, self.skipped = self.steps + 1, self.done + done, self.skipped + (not done)
        if loss is not None:
            self.nan += not torch.isfinite(loss).item()
            self.loss = self.loss + (loss if done else 0 * loss)


def record(args, step, step_s, operations, rate, loss, scale, grad_norm, interval):
    """The line of Megatron-LM's training_log()."""
    fields = [
        f" [{datetime.now():%Y-%m-%d %H:%M:%S.%f}] iteration {step:8d}/{args.steps:8d}",
        f"consumed samples: {step * args.global_batch_size:12d}",
        f"elapsed time per iteration (ms): {step_s * 1000:.1f}",
        f"throughput per GPU (TFLOP/s/GPU): {operations / (step_s * 1e12 * WORLD):.1f}",
        f"learning rate: {rate:.6E}",
        f"global batch size: {args.global_batch_size:5d}",
        *([f"lm loss: {loss:.6E}"] if interval.done else []),
        f"loss scale: {scale:.1f}",
        *([f"grad norm: {grad_norm:.3f}"] if grad_norm is not None else []),
        f"number of skipped iterations: {interval.skipped:3d}",
        f"number of nan iterations: {interval.nan:3d} |",
    ]
    return " | ".join(fields)


def dump(args):
    """The sizes as Megatron-LM prints them at its start."""
    words = {
        "fp16": args.precision == "fp16", "bf16": args.precision == "bf16", "global_batch_size": args.global_batch_size,
        "hidden_size": args.hidden, "log_interval": args.log_interval, "micro_batch_size": args.micro_batch_size,
        "num_attention_heads": args.heads, "num_layers": args.layers, "padded_vocab_size": args.vocabulary,
        "params_dtype": PRECISIONS[args.precision], "pipeline_model_parallel_size": args.pp,
        "seq_length": args.seq_length, "sequence_parallel": args.sequence_parallel,
        "tensor_model_parallel_size": args.tp, "train_iters": args.steps,
        "use_distributed_optimizer": args.distributed_optimizer, "world_size": WORLD,
    }  # fmt: skip
    return "\n".join([
        f"using world size: {WORLD}, data-parallel size: {args.dp}, context-parallel size: 1, tensor-model-parallel "
        f"size: {args.tp}, pipeline-model-parallel size: {args.pp}",
        "------------------------ arguments ------------------------",
        *(f"  {name} {'.' * (48 - len(name))} {words[name]}" for name in sorted(words)),
        "-------------------- end of arguments ---------------------",
    ])  # fmt: skip


def count_parameters(model):
    """Of the whole model: what tensor parallel ranks hold twice, and the embedding's copy in the last stage, once."""
    from megatron.core import parallel_state

    first, stage = parallel_state.get_tensor_model_parallel_rank() == 0, parallel_state.is_pipeline_first_stage()
    count = sum(
        p.numel()
        for p in model.parameters()
        if (first or getattr(p, "tensor_model_parallel", False))
        and (stage or not getattr(p, "shared_embedding", False))
    )
    count = torch.tensor(count, dtype=torch.int64, device=next(model.parameters()).device)
    distributed.all_reduce(count, group=parallel_state.get_model_parallel_group())
    return count.item()


class Handler(logging.Handler):
    """Sends megatron's timers where the records go, so that they stay in order."""

    def __init__(self, say):
        super().__init__()
        self.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
        self.say = say

    def emit(self, record):
        self.say(self.format(record))


TIMERS = [
    "forward-backward", "forward-compute", "backward-compute", "batch-generator", "forward-recv", "forward-send",
    "backward-recv", "backward-send", "forward-send-forward-recv", "forward-send-backward-recv",
    "backward-send-forward-recv", "backward-send-backward-recv", "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce", "all-grads-sync", "params-all-gather", "optimizer-copy-to-main-grad",
    "optimizer-unscale-and-check-inf", "optimizer-clip-main-grad", "optimizer-count-zeros", "optimizer-inner-step",
    "optimizer-copy-main-to-model-params", "optimizer",
]  # fmt: skip


if __name__ == "__main__":
    main()
