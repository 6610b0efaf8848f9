"""The model of megatron-core: the model, its optimizer, the passes of a step, and weights on disk.

To be imported after `megatron_on_cpu.prepare()` where there is no GPU.
"""
# mypy: ignore-errors

import importlib.util

import torch
from megatron.core import dist_checkpointing, parallel_state
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt import GPTModel, gpt_layer_specs
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.transformer import TransformerConfig
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.moe import moe_utils
from torch import distributed


def build(args, timers):
    """The model, wrapped for data parallel, its optimizer and its learning rates."""
    config = transformer_config(args, timers)
    model = data_parallel(args, config, gpt(args, config))
    optimizer = adam(args, model, timers)
    config.finalize_model_grads_func, config.grad_scale_func = finalize_model_grads, optimizer.scale_loss
    config.no_sync_func = model.no_sync
    return model, optimizer, cosine_rates(args, optimizer)


def transformer_config(args, timers):
    gpu, recompute = args.device == "cuda", {}
    if args.recompute:
        recompute = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
    return TransformerConfig(
        **model_settings(args.model),
        tensor_model_parallel_size=args.tp, pipeline_model_parallel_size=args.pp,
        sequence_parallel=args.sequence_parallel, pipeline_dtype=args.dtype, params_dtype=args.dtype,
        **half_precision(args), attention_dropout=0.0, hidden_dropout=0.0, **recompute, use_cpu_initialization=not gpu,
        masked_softmax_fusion=False, bias_activation_fusion=gpu, bias_dropout_fusion=gpu,
        gradient_accumulation_fusion=False, timers=timers,
    )  # fmt: skip


def model_settings(shape):
    """What a shape is in megatron-core's words."""
    settings = {
        "num_layers": shape.layers, "hidden_size": shape.hidden, "num_attention_heads": shape.heads,
        "num_query_groups": shape.query_groups, "ffn_hidden_size": shape.ffn,
    }  # fmt: skip
    if shape.llama:
        settings |= {"normalization": "RMSNorm", "add_bias_linear": False, "layernorm_epsilon": 1e-5}
        settings |= {"gated_linear_unit": True, "activation_func": torch.nn.functional.silu}
    if shape.experts:
        settings |= {"num_moe_experts": shape.experts, "moe_router_topk": shape.experts_per_token}
        settings |= {"moe_ffn_hidden_size": shape.ffn, "moe_aux_loss_coeff": 1e-2}
    return settings


def half_precision(args):
    return {"bf16": args.precision == "bf16", "fp16": args.precision == "fp16"}


def layer_spec(args):
    """`transformer_engine` on a GPU where it is installed, else `local`: megatron-core's own layers."""
    engine = args.device == "cuda" and importlib.util.find_spec("transformer_engine") is not None
    return "transformer_engine" if engine else "local"


def gpt(args, config):
    if args.model.experts and not hasattr(moe_utils, "te_general_gemm"):
        moe_utils.te_general_gemm = None  # core 0.16 asks for it without Transformer Engine, which alone defines it
    experts = {"num_experts": args.model.experts or None}
    if layer_spec(args) == "local":
        spec = gpt_layer_specs.get_gpt_layer_local_spec(**experts, normalization=config.normalization)
    else:
        spec = gpt_layer_specs.get_gpt_layer_with_transformer_engine_spec(**experts)
    positions = {"position_embedding_type": "rope", "rotary_base": 500_000} if args.model.llama else {}
    model = GPTModel(
        config, spec, args.vocabulary, args.seq_length, **positions,
        pre_process=parallel_state.is_pipeline_first_stage(), post_process=parallel_state.is_pipeline_last_stage(),
        share_embeddings_and_output_weights=not args.model.llama,
    ).to(args.device)  # fmt: skip
    return model if args.precision == "fp32" else Float16Module(config, model)


def data_parallel(args, config, model):
    wrapping = DistributedDataParallelConfig(
        use_distributed_optimizer=args.distributed_optimizer,
        overlap_grad_reduce=args.device == "cuda" and args.pp == 1,
        grad_reduce_in_fp32=args.precision == "bf16",
    )
    model = DistributedDataParallel(config, wrapping, model)
    model.broadcast_params()
    return model


def adam(args, model, timers):
    config = OptimizerConfig(
        optimizer="adam", lr=args.lr, min_lr=args.lr / 10, weight_decay=0.01, clip_grad=1.0, **half_precision(args),
        params_dtype=args.dtype, use_distributed_optimizer=args.distributed_optimizer, timers=timers,
    )  # fmt: skip
    return get_megatron_optimizer(config, [model])


def cosine_rates(args, optimizer):
    """The learning rate falls to a tenth over the run, without a warm-up."""
    samples = args.steps * args.global_batch_size
    return OptimizerParamScheduler(
        optimizer, init_lr=0.0, max_lr=args.lr, min_lr=args.lr / 10, lr_warmup_steps=0, lr_decay_steps=samples,
        lr_decay_style="cosine", start_wd=0.01, end_wd=0.01, wd_incr_steps=samples, wd_incr_style="constant",
    )  # fmt: skip


def forward_backward(args, model, batches):
    """Both passes over all micro-batches of a step.  Gives their losses on the last pipeline stage, else nothing."""
    return get_forward_backward_func()(
        forward_step_func=forward, data_iterator=batches, model=model, num_microbatches=args.accumulation,
        seq_length=args.seq_length, micro_batch_size=args.micro_batch_size,
    )  # fmt: skip


def forward(batches, model):
    tokens, positions, mask, labels = next(batches)
    return model(tokens, positions, mask, labels=labels), mean_loss


def mean_loss(losses):
    """The loss for the backward pass, and what forward_backward gives back of it."""
    return losses.float().mean(), {"lm loss": losses.detach().float().mean()}


def load_weights(path, model, optimizer):
    shards = {"model": model.module.sharded_state_dict()}
    model.module.load_state_dict(dist_checkpointing.load(shards, str(path))["model"])
    optimizer.reload_model_params()


def save_weights(path, model):
    path.mkdir(parents=True, exist_ok=True)
    dist_checkpointing.save({"model": model.module.sharded_state_dict()}, str(path))


def count_parameters(model):
    """Parameters of the whole model.

    Those that every tensor parallel rank holds count once, and so does the embedding that the last stage holds again.
    """
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
