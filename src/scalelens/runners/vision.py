"""ResNet-50 under DistributedDataParallel on synthetic images.  Needs Linux and torch 2.4 or newer, nothing else.

One process        python vision.py --out runs/n1
Four GPUs          torchrun --standalone --nproc_per_node 4 vision.py --precision bf16 --batch-size 256 --out runs/n4
Two CPU ranks      torchrun --standalone --nproc_per_node 2 vision.py --device cpu --steps 20 --out runs/cpu2
Slurm, N nodes     srun --ntasks-per-node 1 torchrun --nnodes $SLURM_NNODES --nproc_per_node 4 --rdzv_backend c10d
                        --rdzv_id $SLURM_JOB_ID --rdzv_endpoint $(hostname):29400 vision.py --out runs/n$SLURM_NNODES

Rank R leaves rankR.log, a line for each step, and trace_rankR.json.gz, by Kineto: `scalelens ingest runs` reads both.
"""
# mypy: ignore-errors

import argparse
import atexit
import json
import os
import select
import signal
import socket
import threading
import time
from pathlib import Path

STARTED = time.perf_counter()  # before torch: its import is most of the start on a busy shared file system

import torch  # noqa: E402
from torch import distributed, nn  # noqa: E402

RANK, WORLD = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
LOCAL_RANK, LOCAL_WORLD = int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))
GPUS, PRECISIONS = torch.cuda.device_count(), {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    batch = parser.add_mutually_exclusive_group()
    batch.add_argument("--batch-size", type=int, default=32 if GPUS else 8, help="images per device: weak scaling")
    batch.add_argument("--global-batch-size", type=int, help="images over all devices: strong scaling")
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32", help="bf16 and fp16 by autocast")
    parser.add_argument("--image-size", type=int, default=224 if GPUS else 64, help="pixels along an edge")
    parser.add_argument("--steps", type=int, default=100, help="steps of an epoch")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--warmup-steps", type=int, default=5, help="first steps, marked `warmup`")
    parser.add_argument("--profile-steps", type=int, default=2, help="traced within the warm-up; 0: no trace")
    parser.add_argument("--lr", type=float, default=0.01, help="learning rate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda" if GPUS else "cpu")
    parser.add_argument("--out", type=Path, required=True, help="folder for logs and traces; a restart adds to it")
    args = parser.parse_args()
    if args.device == "cpu" and args.precision == "fp16":
        parser.error("fp16 needs a GPU: on the CPU there is no loss scaling; use --precision bf16")
    args.scaling = "strong" if args.global_batch_size else "weak"
    args.global_batch_size = args.global_batch_size or args.batch_size * WORLD
    args.batch_size, left = divmod(args.global_batch_size, WORLD)
    if left:
        parser.error(f"a global batch of {args.global_batch_size} cannot be shared equally by {WORLD} devices")
    # Traced steps are slower, and the one after them waits for the slowest writer: no statistic may use them.
    args.warmup_steps = max(args.warmup_steps, args.profile_steps + 1 if args.profile_steps else 0)
    return args


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.relu, self.downsample = nn.ReLU(inplace=True), nn.Sequential()
        if inputs != outputs:
            self.downsample.extend([nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)])

    def forward(self, x):
        y = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        return self.relu(self.bn3(self.conv3(y)) + self.downsample(x))


class ResNet(nn.Sequential):
    """ResNet v1.5 (the stride is in the 3x3 convolution) with torchvision's names of parameters."""

    def __init__(self, blocks=(3, 4, 6, 3), classes=1000):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        self.relu, self.maxpool = nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)
        for k, count in enumerate(blocks):
            first = Bottleneck(128 << k if k else 64, 64 << k, 256 << k, stride=2 if k else 1)
            others = [Bottleneck(256 << k, 64 << k, 256 << k, stride=1) for _ in range(count - 1)]
            self.add_module(f"layer{k + 1}", nn.Sequential(first, *others))
        self.avgpool, self.flatten, self.fc = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, classes)
        for convolution in (module for module in self.modules() if isinstance(module, nn.Conv2d)):
            nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")


def open_log(path):
    """The function that logs.  A thread writes the lines every two seconds: no step waits for the file system.

    On SIGTERM or ^C it writes the rest and ends the process, even while training hangs in a collective: Python puts
    the number of the signal into a pipe without waiting for the main thread.
    """
    file = open(path, "ab", buffering=0)  # noqa: SIM115
    lines, lock = ["\n"] if file.tell() else [], threading.Lock()  # a killed attempt may have left half a line

    def log(event, **values):
        values = {"event": event, "rank": RANK, **values, "time": round(time.time(), 6)}
        lines.append(f":::SCALELENS {json.dumps({k: v for k, v in values.items() if v is not None})}\n")

    def write():
        with lock:
            file.write("".join(lines.pop(0) for _ in range(len(lines))).encode())

    def serve():
        while not select.select([signals], [], [], 2.0)[0]:
            write()
        log("end", outcome="cancelled")
        write()
        os._exit(128 + os.read(signals, 1)[0])

    signals, wakeup = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(wakeup)
    signal.signal(signal.SIGTERM, lambda *_: None)
    atexit.register(write)
    threading.Thread(target=serve, daemon=True).start()
    return log


def main():
    args, clock = arguments(), time.perf_counter
    args.out.mkdir(parents=True, exist_ok=True)
    log = open_log(args.out / f"rank{RANK}.log")
    if gpu := args.device == "cuda":
        torch.cuda.set_device(LOCAL_RANK % GPUS)  # Slurm may show each task one GPU, as number 0
        torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, False  # by default fp32 means TF32
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        device_model = torch.cuda.get_device_name()
    else:
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // LOCAL_WORLD))
        device_model = Path("/proc/cpuinfo").read_text().partition("model name\t: ")[2].partition("\n")[0] or None
    synchronise = torch.cuda.synchronize if gpu else lambda: None
    torch.manual_seed(args.seed + RANK)  # other data on each rank; DDP gives all the weights of rank 0
    model = ResNet().to(args.device, memory_format=torch.channels_last)
    log(
        "run", framework="pytorch", framework_version=str(torch.__version__), model="resnet50",
        parameters=sum(p.numel() for p in model.parameters()), precision=args.precision, dataset="synthetic",
        image_size=args.image_size, scaling=args.scaling, micro_batch_size=args.batch_size, nodes=WORLD // LOCAL_WORLD,
        global_batch_size=args.global_batch_size, devices=WORLD, devices_per_node=LOCAL_WORLD,
        device_model=device_model, device_unit="cpu" if not gpu else "gcd" if "MI250" in device_model else "gpu",
        threads=torch.get_num_threads(), steps_per_epoch=args.steps, epochs=args.epochs, warmup_steps=args.warmup_steps,
        seed=args.seed, host=socket.gethostname(), job_id=os.environ.get("SLURM_JOB_ID"),
    )  # fmt: skip
    if WORLD > 1:
        distributed.init_process_group("nccl" if gpu else "gloo")
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), args.lr, momentum=0.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler(args.device, enabled=args.precision == "fp16")
    autocast = torch.autocast(args.device, PRECISIONS[args.precision], enabled=args.precision != "fp32")
    batches = torch.randn(4, args.batch_size, 3, args.image_size, args.image_size, pin_memory=gpu)
    classes = torch.randint(1000, (4, args.batch_size), pin_memory=gpu)  # four batches repeat, so the loss falls
    idle = args.warmup_steps - args.profile_steps - 1 if args.profile_steps else args.epochs * args.steps + 1
    tracer = torch.profiler.profile(
        schedule=torch.profiler.schedule(wait=idle, warmup=1, active=max(args.profile_steps, 1), repeat=1),
        on_trace_ready=lambda tracer: tracer.export_chrome_trace(str(args.out / f"trace_rank{RANK}.json.gz")),
    )
    tracer.start()
    log("phase", phase="startup", step=0, span_s=clock() - STARTED)
    for epoch in range(args.epochs):
        epoch_start = clock()
        for step in range(epoch * args.steps + 1, (epoch + 1) * args.steps + 1):
            tracer.step()  # the trace calls what follows ProfilerStep#{step}
            start = clock()
            images, labels = (data[step % 4].to(args.device, non_blocking=True) for data in (batches, classes))
            synchronise()  # note: the copy cannot hide behind the computation, but its time is known
            data_s = clock() - start
            if gpu:
                begun.record()
            with autocast:
                loss = nn.functional.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            if gpu:
                ended.record()
            synchronise()  # note: the host cannot run ahead of the device, which costs most where kernels are short
            step_s = clock() - start
            log(
                "step", phase="warmup" if step <= args.warmup_steps else "train", epoch=epoch, step=step, step_s=step_s,
                data_s=data_s, device_s=begun.elapsed_time(ended) / 1e3 if gpu else None, loss=loss.item(),
                samples=args.global_batch_size, learning_rate=args.lr,
            )  # fmt: skip
            if RANK == 0 and step % 10 == 0:
                print(f"epoch {epoch} step {step} loss {loss:.3f} {step_s:.4f} s/step", flush=True)
        span_s = clock() - epoch_start
        log("phase", phase="train", epoch=epoch, step=step, span_s=span_s, samples=args.global_batch_size * args.steps)
    tracer.stop()
    if WORLD > 1:
        distributed.destroy_process_group()
    log("end", outcome="completed")


if __name__ == "__main__":
    main()
