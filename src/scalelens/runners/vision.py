"""ResNet-50, ResNet-101 or Inception-v3 under DistributedDataParallel.  Needs Linux and torch 2.4 or newer alone.

One process        python vision.py --out runs/n1
Four GPUs          torchrun --standalone --nproc_per_node 4 vision.py --precision amp --batch-per-device 256 --out n4
Two CPU ranks      torchrun --standalone --nproc_per_node 2 vision.py --device cpu --steps 20 --out runs/cpu2
Slurm, N nodes     srun --ntasks-per-node 1 torchrun --nnodes $SLURM_NNODES --nproc_per_node 4 --rdzv_backend c10d
                        --rdzv_id $SLURM_JOB_ID --rdzv_endpoint HOST:29400 vision.py --out runs/n$SLURM_NNODES

Rank R leaves rankR.log, a line for each step, and trace_rankR.json.gz, by Kineto: `scalelens ingest runs` reads both.
"""
# mypy: ignore-errors

import argparse
import ctypes
import os
import time
from pathlib import Path

STARTED = time.perf_counter()  # before torch: its import is most of the start on a busy shared file system

import torch  # noqa: E402
from runlog import LOCAL_RANK, LOCAL_WORLD, RANK, WORLD, device, facts, open_log  # noqa: E402
from torch import distributed, nn  # noqa: E402
from vision_data import Batches  # noqa: E402
from vision_models import MODELS, loss_of  # noqa: E402

GPUS = torch.cuda.device_count()
AUTOCAST = {"fp32": None, "tf32": None, "amp": torch.float16, "bf16": torch.bfloat16}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="resnet50")
    parser.add_argument("--precision", choices=AUTOCAST, default="fp32", help="amp: float16 with scaled losses")
    batch = parser.add_mutually_exclusive_group()
    batch.add_argument("--batch-per-device", type=int, default=32 if GPUS else 8, help="weak scaling")
    batch.add_argument("--global-batch-size", type=int, help="images over all devices: strong scaling")
    # How long: epochs of a training part and a validation part
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, help="steps of an epoch; default 100, or all of --data")
    parser.add_argument("--validation-steps", type=int, default=0, help="after each epoch; -1: all of --data")
    parser.add_argument("--warmup-steps", type=int, default=5, help="first steps, marked `warmup`")
    # Data: synthetic, unless there is a folder
    parser.add_argument("--data", type=Path, help="folder of train/CLASS/*.jpg (and val/), or of LMDBs train (and val)")
    parser.add_argument("--workers", type=int, default=4, help="processes of a rank that read --data")
    parser.add_argument("--image-size", type=int, help="pixels along an edge")
    # Learning: Goyal et al. 2017, whose rate grows with the global batch
    parser.add_argument("--lr", type=float, default=0.1, help="for a global batch of 256")
    parser.add_argument("--lr-warmup-epochs", type=float, default=5.0, help="until the rate is full")
    parser.add_argument("--seed", type=int, default=1)
    # What is measured
    parser.add_argument("--profile-steps", type=int, default=2, help="traced within the warm-up; 0: no trace")
    parser.add_argument("--slow-rank", type=int, help="a planted straggler: this rank computes on ...")
    parser.add_argument("--slow-by", type=float, default=0.2, help="... for such a part of its own time, for nothing")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if GPUS else "cpu")
    parser.add_argument("--out", type=Path, required=True, help="folder for logs and traces; a restart adds to it")
    args = parser.parse_args()
    args.image_size = args.image_size or (299 if args.model == "inception_v3" else 224 if args.device == "cuda" else 64)
    if args.model == "inception_v3" and args.image_size < 299:
        parser.error("the auxiliary head of Inception-v3 needs images of 299 pixels or more")
    if args.device == "cpu" and args.precision == "tf32":
        parser.error("tf32 is a mode of NVIDIA's GPUs; the CPU has fp32, amp and bf16")
    if args.validation_steps < 0 and not args.data:
        parser.error("--validation-steps -1 needs --data: synthetic images have no end")
    if args.slow_rank is not None and not 0 <= args.slow_rank < WORLD:
        parser.error(f"there is no rank {args.slow_rank} to be slow: ranks are 0 to {WORLD - 1}")
    args.scaling = "strong" if args.global_batch_size else "weak"
    args.global_batch_size = args.global_batch_size or args.batch_per_device * WORLD
    args.batch_per_device, left = divmod(args.global_batch_size, WORLD)
    if left:
        parser.error(f"a global batch of {args.global_batch_size} cannot be shared equally by {WORLD} devices")
    # Traced steps are slower, and the one after them waits for the slowest writer: no statistic may use them.
    args.warmup_steps = max(args.warmup_steps, args.profile_steps + 1 if args.profile_steps else 0)
    return args


def learning_rate(args, step, steps):
    """Linear scaling, reached in equal parts over the first epochs; a tenth from epochs 30, 60 and 80 on each."""
    full = args.lr * args.global_batch_size / 256
    risen = min(1.0, step / (args.lr_warmup_epochs * steps)) if args.lr_warmup_epochs else 1.0
    begin = min(args.lr, full)
    return (begin + (full - begin) * risen) * 0.1 ** sum((step - 1) // steps >= epoch for epoch in (30, 60, 80))


def keep_memory():
    """Large blocks come from the heap, which stays.

    glibc gives them back and faults them in again at each step, which costs a sixth of its processor time, now more and
    now less: beside that a rank that is slower by a fifth is not seen.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt:
        mallopt(-4, 0)  # M_MMAP_MAX: blocks mapped on their own
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: bytes free at the top before they are given back


def main():
    args, clock = arguments(), time.perf_counter
    log, say = open_log(args.out / f"rank{RANK}.log")
    if gpu := args.device == "cuda":
        torch.cuda.set_device(LOCAL_RANK % GPUS)  # Slurm may show each task one GPU, as number 0
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    else:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // LOCAL_WORLD))
        keep_memory()
    synchronise = torch.cuda.synchronize if gpu else lambda: None
    own = clock if gpu else time.thread_time  # on the CPU the time of this thread: waiting and others do not count
    ballast = torch.ones(512, 512, device=args.device)

    share = (args.image_size, RANK, WORLD, args.workers, gpu, args.seed)
    batch = args.batch_per_device
    steps = args.steps if args.data else args.steps or 100
    training = Batches(args.data, "train", batch, steps, *share)
    steps, validation = training.steps, None
    if args.validation_steps:
        validation = Batches(args.data, "val", batch, max(args.validation_steps, 0), *share)
    torch.manual_seed(args.seed)  # the weights of all ranks; the data differ by rank
    model = MODELS[args.model](training.classes).to(args.device, memory_format=torch.channels_last)
    log(
        "run", framework="pytorch", framework_version=str(torch.__version__), model=args.model,
        parameters=sum(p.numel() for p in model.parameters()), precision=args.precision,
        dataset=args.data.name if args.data else "synthetic", image_size=args.image_size, scaling=args.scaling,
        micro_batch_size=batch, global_batch_size=args.global_batch_size, nodes=WORLD // LOCAL_WORLD, devices=WORLD,
        devices_per_node=LOCAL_WORLD, **device(gpu), threads=torch.get_num_threads(), steps_per_epoch=steps,
        epochs=args.epochs, warmup_steps=args.warmup_steps, seed=args.seed, learning_rate_256=args.lr,
        slow_rank=args.slow_rank, slow_by=None if args.slow_rank is None else args.slow_by,
    )  # fmt: skip
    log("facts", **facts())
    if WORLD > 1:
        distributed.init_process_group("nccl" if gpu else "gloo")
        model = nn.parallel.DistributedDataParallel(model)
    # Biases and batch normalisation do not decay.
    parameters = [[p for p in model.parameters() if p.ndim > 1], [p for p in model.parameters() if p.ndim == 1]]
    groups = [{"params": parameters[0], "weight_decay": 1e-4}, {"params": parameters[1], "weight_decay": 0.0}]
    optimizer = torch.optim.SGD(groups, args.lr, momentum=0.9, nesterov=True)
    scaler = torch.amp.GradScaler(args.device, enabled=args.precision == "amp")
    autocast = torch.autocast(args.device, AUTOCAST[args.precision], enabled=AUTOCAST[args.precision] is not None)
    idle = args.warmup_steps - args.profile_steps - 1 if args.profile_steps else args.epochs * steps + 1
    tracer = torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=idle, warmup=1, active=max(args.profile_steps, 1), repeat=1),
        on_trace_ready=lambda tracer: tracer.export_chrome_trace(str(args.out / f"trace_rank{RANK}.json.gz")),
    )

    def next_batch(iterator):
        images, labels = (data.to(args.device, non_blocking=True) for data in next(iterator))
        images = images.to(memory_format=torch.channels_last)
        synchronise()  # note: the copy cannot hide behind the computation, but its time is known
        return images, labels

    def train(epoch):
        model.train()
        iterator = training.start(epoch)
        for step in range(epoch * steps + 1, (epoch + 1) * steps + 1):
            tracer.step()  # the trace calls what follows ProfilerStep#{step}
            start = clock()
            images, labels = next_batch(iterator)
            data_s, busy = clock() - start, own()
            rate = learning_rate(args, step, steps)
            for group in optimizer.param_groups:
                group["lr"] = rate
            if gpu:
                begun.record()
            with autocast:
                loss = loss_of(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            if args.slow_rank == RANK:
                synchronise()
                until = own() + args.slow_by * (own() - busy)
                while own() < until:
                    ballast @ ballast
                    synchronise()
            if gpu:
                ended.record()
            synchronise()  # note: the host cannot run ahead of the device, which costs most where kernels are short
            step_s = clock() - start
            log(
                "step", phase="warmup" if step <= args.warmup_steps else "train", epoch=epoch, step=step, step_s=step_s,
                data_s=data_s, device_s=begun.elapsed_time(ended) / 1e3 if gpu else None,
                cpu_s=None if gpu else own() - busy, loss=loss.item(), samples=args.global_batch_size,
                learning_rate=rate,
            )  # fmt: skip
            if RANK == 0 and step % 10 == 0:
                say(f"epoch {epoch} step {step} loss {loss:.3f} {step_s:.4f} s/step")
        return args.global_batch_size * steps

    @torch.no_grad()
    def validate(epoch):
        model.eval()
        iterator, samples = validation.start(epoch), 0
        for step in range(epoch * validation.steps + 1, (epoch + 1) * validation.steps + 1):
            start = clock()
            images, labels = next_batch(iterator)
            data_s = clock() - start
            with autocast:
                scores = model(images)
            loss, right = loss_of(scores.float(), labels), (scores.argmax(1) == labels).float().mean()
            synchronise()
            log(
                "step", phase="validation", epoch=epoch, step=step, step_s=clock() - start, data_s=data_s,
                loss=loss.item(), accuracy=right.item(), samples=len(labels) * WORLD,
            )  # fmt: skip
            samples += len(labels) * WORLD
        return samples

    def timed(phase, epoch, work):
        start = clock()
        samples = work(epoch)
        log("phase", phase=phase, epoch=epoch, step=(epoch + 1) * steps, span_s=clock() - start, samples=samples)
        return samples

    def whole_epoch(epoch):
        samples = timed("train", epoch, train)
        if validation:
            timed("validation", epoch, validate)
        return samples

    tracer.start()
    log("phase", phase="startup", step=0, span_s=clock() - STARTED)
    for epoch in range(args.epochs):
        timed("epoch", epoch, whole_epoch)
    tracer.stop()
    if WORLD > 1:
        distributed.destroy_process_group()
    log("end", outcome="completed")


if __name__ == "__main__":
    main()
