"""ResNet-50, ResNet-101, Inception-v3, MobileNet-v2 or EfficientNet-B0 under DistributedDataParallel.

Needs only Linux and torch 2.4 or newer.

One process        python vision.py --out runs/n1
Four GPUs          torchrun --standalone --nproc_per_node 4 vision.py --precision amp --batch-per-device 256 --out n4
Two CPU ranks      torchrun --standalone --nproc_per_node 2 vision.py --device cpu --steps 20 --out runs/cpu2
Slurm, N nodes     srun --ntasks-per-node 1 torchrun --nnodes $SLURM_NNODES --nproc_per_node 4 --rdzv_backend c10d
                        --rdzv_id $SLURM_JOB_ID --rdzv_endpoint HOST:29400 vision.py --out runs/n$SLURM_NNODES

Rank R writes rankR.log, a line for each step, and trace_rankR.json.gz, by Kineto.  `scalelens ingest runs` reads both.
"""
# mypy: ignore-errors

import argparse
import ctypes
import time
from pathlib import Path

STARTED = time.perf_counter()  # before torch: its import is most of the start on a busy shared file system

import torch  # noqa: E402
from measuring import AUTOCAST, DeviceClock, clock, profiler, use_device, warmup_steps  # noqa: E402
from runlog import LOCAL_WORLD, RANK, WORLD, add_place, checked, device, ending, facts, open_log, share_batch  # noqa: E402
from torch import distributed, nn  # noqa: E402
from vision_data import Batches  # noqa: E402
from vision_models import DEPTHWISE, MODELS, loss_of  # noqa: E402

GPUS = torch.cuda.device_count()


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="resnet50")
    parser.add_argument("--precision", choices=AUTOCAST, default="fp32", help="amp: float16 with scaled losses")
    batch = parser.add_mutually_exclusive_group()
    batch.add_argument("--batch-per-device", type=int, default=32 if GPUS else 8, help="images: weak scaling")
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
    parser.add_argument("--profile-steps", type=int, default=5, help="traced within the warm-up; 0: no trace")
    parser.add_argument("--slow-rank", type=int, help="a planted straggler: this rank computes longer than it needs")
    parser.add_argument("--slow-by", type=float, default=0.2, help="how much longer, as a part of its own time")
    add_place(parser, "vision", GPUS)
    return parser


def arguments():
    parser = options()
    args = parser.parse_args()
    args.image_size = args.image_size or (299 if args.model == "inception_v3" else 224 if args.device == "cuda" else 64)
    if args.model == "inception_v3" and args.image_size < 299:
        parser.error("the auxiliary head of Inception-v3 needs images of 299 pixels or more")
    if args.device == "cpu" and args.precision == "tf32":
        parser.error("tf32 is a mode of NVIDIA's GPUs; the CPU has fp32, amp and bf16")
    if args.validation_steps < 0 and not args.data:
        parser.error("--validation-steps -1 needs --data: synthetic images have no end")
    if args.slow_rank is not None and not 0 <= args.slow_rank < WORLD:
        parser.error(f"rank {args.slow_rank} cannot be the slow one: ranks are 0 to {WORLD - 1}")
    share_batch(parser, args, WORLD)
    if args.model != "inception_v3" and args.batch_per_device == 1 and args.image_size <= 32:
        parser.error("batch normalization needs more than one value: more than 32 pixels, or 2 images per device")
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
        # Where each channel has a convolution of its own, trying all algorithms took half a minute on an H100.
        torch.backends.cudnn.benchmark = args.model not in DEPTHWISE
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = args.precision == "tf32"
    else:
        keep_memory()
    training, validation = parts(args, gpu)
    torch.manual_seed(args.seed)  # the weights of all ranks; the data differ by rank
    model = MODELS[args.model](training.classes).to(args.device, memory_format=torch.channels_last)
    log("run", **settings(args, model, training.steps))
    log("facts", **facts())
    if WORLD > 1:
        distributed.init_process_group("nccl" if gpu else "gloo")
        model = nn.parallel.DistributedDataParallel(model)
    with profiler(args, args.epochs * training.steps) as tracer:
        train(args, model, training, validation, tracer, log, say)
    del model  # before its group: what ends last waits for Gloo's thread, which may wait for Python
    if WORLD > 1:
        distributed.destroy_process_group()


def keep_memory():
    """Large blocks come from the heap, which stays.

    By default glibc gives them back to the system and must ask for them again at each step.  That costs about a sixth
    of the step's processor time, and so unevenly that a rank slower by a fifth would not be seen.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other C libraries have none
    if mallopt:
        mallopt(-4, 0)  # M_MMAP_MAX: blocks mapped on their own
        mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: bytes free at the top before they are given back


def parts(args, gpu):
    """Batches of the training part, and of the validation part where it is asked for."""
    share = (args.image_size, RANK, WORLD, args.workers, gpu, args.seed)
    steps = args.steps if args.data else args.steps or 100
    training, validation = Batches(args.data, "train", args.batch_per_device, steps, *share), None
    if args.validation_steps:
        validation = Batches(args.data, "val", args.batch_per_device, max(args.validation_steps, 0), *share)
    return training, validation


def settings(args, model, steps):
    """What the log says of the whole run."""
    return {
        "framework": "pytorch", "framework_version": str(torch.__version__), "model": args.model,
        "parameters": sum(p.numel() for p in model.parameters()), "precision": args.precision,
        "dataset": args.data.name if args.data else "synthetic", "image_size": args.image_size, "scaling": args.scaling,
        "micro_batch_size": args.batch_per_device, "global_batch_size": args.global_batch_size,
        "nodes": WORLD // LOCAL_WORLD, "devices": WORLD, "devices_per_node": LOCAL_WORLD,
        **device(args.device == "cuda"), "threads": torch.get_num_threads(), "steps_per_epoch": steps,
        "epochs": args.epochs, "warmup_steps": args.warmup_steps, "seed": args.seed, "learning_rate_256": args.lr,
        "slow_rank": args.slow_rank, "slow_by": None if args.slow_rank is None else args.slow_by,
    }  # fmt: skip


def train(args, model, training, validation, tracer, log, say):
    gpu, steps = args.device == "cuda", training.steps
    optimizer = sgd(args, model)
    scaler = torch.amp.GradScaler(args.device, enabled=args.precision == "amp")
    autocast = torch.autocast(args.device, AUTOCAST[args.precision], enabled=AUTOCAST[args.precision] is not None)
    device_clock, last = DeviceClock(gpu), args.epochs * steps
    own = clock if gpu else time.thread_time  # on the CPU the time of this thread: waiting and others do not count
    ballast = torch.ones(512, 512, device=args.device)

    log("phase", phase="startup", step=0, span_s=clock() - STARTED)
    for epoch in range(args.epochs):
        epoch_start = clock()
        model.train()
        iterator = training.start(epoch)
        for step in range(epoch * steps + 1, (epoch + 1) * steps + 1):
            tracer.step()  # the trace calls what follows ProfilerStep#{step}
            start = clock()
            images, labels = next_batch(iterator, args, device_clock)
            data_s, busy = clock() - start, own()
            rate = learning_rate(args, step, steps)
            for group in optimizer.param_groups:
                group["lr"] = rate
            device_clock.start()
            with autocast:
                loss = loss_of(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            if args.slow_rank == RANK:
                compute_on(args.slow_by, busy, own, ballast, device_clock)
            device_clock.stop()
            device_clock.synchronise()  # note: the host cannot run ahead, which costs most where kernels are short
            step_s = clock() - start
            log(
                "step", phase="warmup" if step <= args.warmup_steps else "train", epoch=epoch, step=step, step_s=step_s,
                data_s=data_s, device_s=device_clock.seconds(), cpu_s=None if gpu else own() - busy, loss=loss.item(),
                samples=args.global_batch_size, learning_rate=rate,
            )  # fmt: skip
            if RANK == 0 and (step % 10 == 0 or step in (1, last)):  # with its time it is known for a copy of the log
                say(f"{time.strftime('%F %T')} epoch {epoch} step {step} loss {loss:.3f} {step_s:.4f} s/step")
        epoch_end = {"epoch": epoch, "step": (epoch + 1) * steps}
        samples = args.global_batch_size * steps
        log("phase", phase="train", **epoch_end, span_s=clock() - epoch_start, samples=samples)
        if validation:
            start = clock()
            seen = validate(args, epoch, model, validation, autocast, device_clock, log)
            log("phase", phase="validation", **epoch_end, span_s=clock() - start, samples=seen)
        log("phase", phase="epoch", **epoch_end, span_s=clock() - epoch_start, samples=samples)


@torch.no_grad()
def validate(args, epoch, model, validation, autocast, device_clock, log):
    """Logs the steps of a validation part; gives the number of its samples."""
    model.eval()
    iterator, samples = validation.start(epoch), 0
    for step in range(epoch * validation.steps + 1, (epoch + 1) * validation.steps + 1):
        start = clock()
        images, labels = next_batch(iterator, args, device_clock)
        data_s = clock() - start
        with autocast:
            scores = model(images)
        loss, accuracy = loss_of(scores.float(), labels), (scores.argmax(1) == labels).float().mean()
        device_clock.synchronise()
        log(
            "step", phase="validation", epoch=epoch, step=step, step_s=clock() - start, data_s=data_s,
            loss=loss.item(), accuracy=accuracy.item(), samples=len(labels) * WORLD,
        )  # fmt: skip
        samples += len(labels) * WORLD
    return samples


def compute_on(slow_by, busy, own, ballast, device_clock):
    """The planted straggler: works for nothing, for a part of the time since `busy`."""
    device_clock.synchronise()
    until = own() + slow_by * (own() - busy)
    while own() < until:
        ballast @ ballast
        device_clock.synchronise()


def next_batch(iterator, args, device_clock):
    images, labels = (data.to(args.device, non_blocking=True) for data in next(iterator))
    images = images.to(memory_format=torch.channels_last)
    device_clock.synchronise()  # note: the copy cannot hide behind the computation, but its time is known
    return images, labels


def sgd(args, model):
    """Biases and batch normalization do not decay."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": 1e-4}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.SGD(groups, args.lr, momentum=0.9, nesterov=True)


def learning_rate(args, step, steps):
    """Linear scaling, reached in equal parts over the first epochs; a tenth from epochs 30, 60 and 80 on each."""
    full = args.lr * args.global_batch_size / 256
    risen = min(1.0, step / (args.lr_warmup_epochs * steps)) if args.lr_warmup_epochs else 1.0
    begin = min(args.lr, full)
    return (begin + (full - begin) * risen) * 0.1 ** sum((step - 1) // steps >= epoch for epoch in (30, 60, 80))


if __name__ == "__main__":
    main()
