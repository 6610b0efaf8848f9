"""Log lines that several tests write."""

RECORD = (
    " iteration {:8}/    1000 | consumed samples: {:12} | elapsed time per iteration (ms): {:.1f} | learning rate: 3.750E-05 |"
    " global batch size:     4 | lm loss: 1.203115E+01 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)


def megatron_line(step: int, step_ms: float = 1354.9, samples: int | None = None) -> str:
    """The record of one step as Megatron prints it; each step takes four samples."""
    return RECORD.format(step, 4 * step if samples is None else samples, step_ms)
