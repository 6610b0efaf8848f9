"""BERT as a masked language model: Devlin et al. 2018, with the head that Hugging Face's BertForMaskedLM has."""
# mypy: ignore-errors

from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

UNMASKED, DROPOUT, EPSILON = -100, 0.1, 1e-12  # a label of UNMASKED is not scored


class Shape(NamedTuple):
    layers: int
    hidden: int
    heads: int
    ffn: int
    positions: int = 512
    vocabulary: int = 30_522


SHAPES = {
    "toy-bert": Shape(2, 64, 4, 256, 128, 512),
    "bert-base": Shape(12, 768, 12, 3072),
    "bert-large": Shape(24, 1024, 16, 4096),
}


class Bert(nn.Module):
    """Gives the scores of the vocabulary for every token; the output layer shares its matrix with the embedding."""

    def __init__(self, shape):
        super().__init__()
        self.tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.positions, self.segments = nn.Embedding(shape.positions, shape.hidden), nn.Embedding(2, shape.hidden)
        self.norm, self.dropout = nn.LayerNorm(shape.hidden, EPSILON), nn.Dropout(DROPOUT)
        layer = nn.TransformerEncoderLayer(
            shape.hidden, shape.heads, shape.ffn, DROPOUT, "gelu", layer_norm_eps=EPSILON, batch_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, shape.layers, enable_nested_tensor=False)
        self.transform, self.head_norm = nn.Linear(shape.hidden, shape.hidden), nn.LayerNorm(shape.hidden, EPSILON)
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))
        self.apply(initialise)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.positions(positions) + self.segments.weight[0]  # one segment
        x = self.encoder(self.dropout(self.norm(x)))
        return functional.linear(self.head_norm(functional.gelu(self.transform(x))), self.tokens.weight, self.bias)


def initialise(module):
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, 0, 0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)
    if isinstance(module, nn.MultiheadAttention):
        nn.init.normal_(module.in_proj_weight, 0, 0.02)


def loss_of(scores, labels):
    return functional.cross_entropy(scores.flatten(0, 1).float(), labels.flatten(), ignore_index=UNMASKED)


def batches(shape, batch, seq_length, seed, device):
    """Four synthetic batches of tokens and labels.  A sequence counts on from a random token, and 15 % are masked.

    The mask is the last token of the vocabulary.  At least one token of a sequence is masked.
    """
    generator = torch.Generator().manual_seed(seed)
    pairs = []
    for _ in range(4):
        start = torch.randint(shape.vocabulary - 1, (batch, 1), generator=generator)
        whole = (start + torch.arange(seq_length)) % (shape.vocabulary - 1)
        masked = torch.rand(batch, seq_length, generator=generator) < 0.15
        masked[:, 0] |= ~masked.any(1)
        pair = whole.masked_fill(masked, shape.vocabulary - 1), whole.masked_fill(~masked, UNMASKED)
        pairs.append(tuple(part.to(device) for part in pair))
    return pairs
