"""A log as Megatron-LM prints it, for the stand-ins of the studies."""

RECORDS = 12


def megatron_log(
    arguments: dict[str, object], devices: int, parallel: tuple[int, int], step_s: float, tflops: float | None = None,
    interval: int = 1,
) -> str:
    """The argument dump and the records of `interval` steps each; `parallel` is tensor and pipeline parallelism."""
    tensor, pipeline = parallel
    batch = int(str(arguments["global_batch_size"]))
    throughput = f" throughput per GPU (TFLOP/s/GPU): {tflops:.2f} |" if tflops else ""
    lines = [
        f"using world size: {devices}, data-parallel size: {devices // tensor // pipeline}, "
        f"tensor-model-parallel size: {tensor}, pipeline-model-parallel size: {pipeline}",
        "------------------------ arguments ------------------------",
        *(f"  {name} {'.' * (47 - len(name))} {value}" for name, value in arguments.items()),
        "-------------------- end of arguments ---------------------",
        *(
            f" iteration {step:8}/{interval * 100:8} | consumed samples: {step * batch:12} | "
            f"elapsed time per iteration (ms): {step_s * 1000:.1f} |{throughput} learning rate: 1.0E-04 | "
            f"global batch size: {batch:5} | lm loss: 7.0E+00 | number of skipped iterations:   0 | "
            "number of nan iterations:   0 |"
            for step in range(interval, interval * RECORDS + 1, interval)
        ),
    ]
    return "\n".join(lines) + "\n"
