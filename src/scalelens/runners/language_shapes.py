"""The models that `language.py` trains: GPT, Llama and a mixture of experts, by the names of `--shape`."""
# mypy: ignore-errors

from typing import NamedTuple


class Shape(NamedTuple):
    """Layers and widths of a transformer.  `vocabulary` is without padding."""

    layers: int
    hidden: int
    heads: int
    seq_length: int
    vocabulary: int
    query_groups: int  # heads of keys and values
    ffn: int  # width of the feed-forward layers, or of one expert
    llama: bool = False  # RMSNorm, SwiGLU, rotary positions, no biases, an output layer of its own
    experts: int = 0
    experts_per_token: int = 0


def gpt(layers, hidden, heads, seq_length, vocabulary):
    return Shape(layers, hidden, heads, seq_length, vocabulary, heads, 4 * hidden)


SHAPES = {
    "toy": gpt(4, 64, 4, 64, 512),
    "toy-llama": Shape(4, 64, 4, 64, 512, 2, 224, llama=True),
    "toy-moe": Shape(4, 64, 4, 64, 512, 2, 224, llama=True, experts=8, experts_per_token=2),
    "857m": gpt(40, 1280, 20, 4096, 50257),
    # Grattafiori et al. 2024, table 3.  Its scaling of the rotary positions changes no operation, and is left out.
    "llama-3.1-8b": Shape(32, 4096, 32, 8192, 128_256, 8, 14_336, llama=True),
    "175b": gpt(96, 12288, 96, 2048, 51200),
}


def arguments_of(shape):
    """What Megatron-LM's arguments say of a shape, apart from its layers and widths.  None: not said."""
    return {
        "add_bias_linear": not shape.llama, "ffn_hidden_size": shape.ffn,
        "group_query_attention": shape.query_groups < shape.heads, "max_position_embeddings": shape.seq_length,
        "moe_ffn_hidden_size": shape.ffn if shape.experts else None,
        "moe_router_topk": shape.experts_per_token or None,
        "normalization": "RMSNorm" if shape.llama else "LayerNorm", "num_experts": shape.experts or None,
        "num_query_groups": shape.query_groups,
        "position_embedding_type": "rope" if shape.llama else "learned_absolute", "swiglu": shape.llama,
        "untie_embeddings_and_output_weights": shape.llama,
    }  # fmt: skip
