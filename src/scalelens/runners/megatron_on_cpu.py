"""What megatron-core 0.16 and 0.19 need to run on the CPU with gloo, at fp32.  A run on GPUs never loads this.

Megatron asks for CUDA in a few places whatever the device is.  Here each of them is sent to the CPU.  Sequence
parallel, the distributed optimizer, bf16 and fp16 still need GPUs.
"""
# mypy: ignore-errors

import functools

import torch


def prepare():
    """To be called before anything of megatron is imported."""
    cpu = torch.device("cpu")
    torch.cuda.current_device = lambda: cpu
    torch.cuda.current_stream = lambda device=None: None  # core 0.19 asks for it, to wait for graphs that need a GPU
    torch.cuda.synchronize = lambda device=None: None
    torch.cuda.get_rng_state = lambda device=None: torch.get_rng_state()
    torch.cuda.manual_seed = torch.manual_seed
    torch.Tensor.cuda = lambda tensor, *_, **__: tensor
    for name in ("tensor", "zeros", "ones", "empty"):
        setattr(torch, name, on_cpu(getattr(torch, name)))

    import megatron.core.optimizer.optimizer as optimizer
    import megatron.core.tensor_parallel.random as random

    random._get_cuda_rng_state = lambda *_, **__: torch.get_rng_state()
    random._set_cuda_rng_state = lambda state, *_, **__: torch.set_rng_state(state)
    optimizer.clip_grad_by_total_norm_fp32 = clip


def on_cpu(make):
    @functools.wraps(make)
    def made(*values, device=None, **options):
        return make(*values, device="cpu" if str(device).startswith("cuda") else device, **options)

    return made


def clip(parameters, max_norm, total_norm, use_decoupled_grad=False):
    """Scales gradients down to a norm.  Megatron's own function asserts that they are on a GPU."""
    if (factor := max_norm / (total_norm + 1e-6)) < 1:
        for parameter in parameters if isinstance(parameters, list) else [parameters]:
            if parameter.grad is not None:
                parameter.grad.mul_(factor)
