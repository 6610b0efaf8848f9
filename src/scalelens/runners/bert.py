"""BERT, a masked language model on synthetic tokens, under DistributedDataParallel.

Needs only Linux and torch 2.4 or newer.

One process        python bert.py --out runs/n1
Four GPUs          torchrun --standalone --nproc_per_node 4 bert.py --precision bf16 --seq-length 512 --out runs/n4
Two CPU ranks      torchrun --standalone --nproc_per_node 2 bert.py --device cpu --steps 20 --out runs/cpu2

Rank R writes rankR.log, a line for each step, and trace_rankR.json.gz, by Kineto.  `scalelens ingest runs` reads both.
"""
# mypy: ignore-errors

import argparse
import time

STARTED = time.perf_counter()  # before torch: its import is most of the start on a busy shared file system

import torch  # noqa: E402
from bert_model import SHAPES, Bert, batches, loss_of  # noqa: E402
from measuring import AUTOCAST, DeviceClock, clock, profiler, use_device, warmup_steps  # noqa: E402
from runlog import LOCAL_WORLD, RANK, WORLD, add_place, checked, device, ending, facts, open_log, share_batch  # noqa: E402
from torch import distributed, nn  # noqa: E402

GPUS = torch.cuda.device_count()


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=SHAPES, default="bert-base" if GPUS else "toy-bert")
    parser.add_argument("--seq-length", type=int, default=128, help="tokens of a sequence; none is padding")
    parser.add_argument("--precision", choices=AUTOCAST, default="fp32", help="amp: float16 with scaled losses")
    batch = parser.add_mutually_exclusive_group()
    batch.add_argument("--batch-per-device", type=int, default=32 if GPUS else 8, help="sequences: weak scaling")
    batch.add_argument("--global-batch-size", type=int, help="sequences over all devices: strong scaling")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warmup-steps", type=int, default=5, help="first steps, marked `warmup`")
    parser.add_argument("--lr", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile-steps", type=int, default=5, help="traced within the warm-up; 0: no trace")
    add_place(parser, "bert", GPUS)
    return parser


def arguments():
    parser = options()
    args = parser.parse_args()
    args.model = SHAPES[args.shape]
    if not 1 <= args.seq_length <= args.model.positions:
        parser.error(f"{args.shape} has {args.model.positions} positions: --seq-length is 1 to {args.model.positions}")
    if args.device == "cpu" and args.precision == "tf32":
        parser.error("tf32 is a mode of NVIDIA's GPUs; the CPU has fp32, amp and bf16")
    if args.steps < 1:
        parser.error("--steps is 1 or more")
    share_batch(parser, args, WORLD)
    args.warmup_steps = warmup_steps(args)
    return args


def main():
    args = checked(arguments())
    log, say = open_log(args.out / f"rank{RANK}.log")
    with ending(log):
        run(args, log, say)


def run(args, log, say):
    gpu = args.device == "cuda"
    use_device(gpu)
    if gpu:
        torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
    data = batches(args.model, args.batch_per_device, args.seq_length, args.seed + RANK, args.device)
    torch.manual_seed(args.seed)  # the weights of all ranks; the data differ by rank
    model = Bert(args.model).to(args.device)
    log("run", **settings(args, model))
    log("facts", **facts())
    if WORLD > 1:
        distributed.init_process_group("nccl" if gpu else "gloo")
        model = nn.parallel.DistributedDataParallel(model)
    with profiler(args, args.steps) as tracer:
        train(args, model, data, tracer, log, say)
    del model  # before its group: what ends last waits for Gloo's thread, which may wait for Python
    if WORLD > 1:
        distributed.destroy_process_group()


def settings(args, model):
    """What the log says of the whole run."""
    return {
        "framework": "pytorch", "framework_version": str(torch.__version__), "model": args.shape,
        "parameters": sum(p.numel() for p in model.parameters()), "precision": args.precision, "dataset": "synthetic",
        "num_layers": args.model.layers, "hidden_size": args.model.hidden, "num_attention_heads": args.model.heads,
        "ffn_hidden_size": args.model.ffn, "vocabulary": args.model.vocabulary, "seq_length": args.seq_length,
        "bidirectional": True, "scored_tokens": "all", "recompute": False, "scaling": args.scaling,
        "micro_batch_size": args.batch_per_device, "global_batch_size": args.global_batch_size,
        "nodes": WORLD // LOCAL_WORLD, "devices": WORLD, "devices_per_node": LOCAL_WORLD,
        **device(args.device == "cuda"), "threads": torch.get_num_threads(), "steps_per_epoch": args.steps,
        "warmup_steps": args.warmup_steps, "seed": args.seed,
    }  # fmt: skip


def train(args, model, data, tracer, log, say):
    gpu = args.device == "cuda"
    optimizer = torch.optim.AdamW(model.parameters(), args.lr, weight_decay=0.01)
    scaler = torch.amp.GradScaler(args.device, enabled=args.precision == "amp")
    autocast = torch.autocast(args.device, AUTOCAST[args.precision], enabled=AUTOCAST[args.precision] is not None)
    device_clock, begin = DeviceClock(gpu), clock()
    own = clock if gpu else time.thread_time  # on the CPU the time of this thread: waiting and others do not count
    log("phase", phase="startup", step=0, span_s=begin - STARTED)
    model.train()
    for step in range(1, args.steps + 1):
        tracer.step()  # the trace calls what follows ProfilerStep#{step}
        start, busy = clock(), own()
        tokens, labels = data[step % len(data)]
        device_clock.start()
        with autocast:
            loss = loss_of(model(tokens), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        device_clock.stop()
        device_clock.synchronise()  # note: the host cannot run ahead of the device
        step_s = clock() - start
        log(
            "step", phase="warmup" if step <= args.warmup_steps else "train", step=step, step_s=step_s,
            device_s=device_clock.seconds(), cpu_s=None if gpu else own() - busy, loss=loss.item(),
            samples=args.global_batch_size, tokens=args.global_batch_size * args.seq_length, learning_rate=args.lr,
        )  # fmt: skip
        if RANK == 0 and (step % 10 == 0 or step in (1, args.steps)):
            say(f"{time.strftime('%F %T')} step {step} loss {loss:.3f} {step_s:.4f} s/step")
    log("phase", phase="train", step=args.steps, span_s=clock() - begin, samples=args.steps * args.global_batch_size)


if __name__ == "__main__":
    main()
