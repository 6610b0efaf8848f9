"""Text for the language runner: synthetic sequences, or an indexed data set of Megatron-LM's."""
# mypy: ignore-errors

import itertools

import torch
from measuring import clock
from runlog import RANK
from torch import distributed


class MicroBatches:
    """Endless micro-batches of a replica, dealt out as Megatron-LM does, so that the work is the same on any devices.

    `waited_s` adds up how long the runner waited for them.
    """

    def __init__(self, args, replica):
        sample = indexed(args) if args.data else counting(args)
        self.batches, self.waited_s = micro_batches(args, sample, replica), 0.0

    def __next__(self):
        start = clock()
        batch = next(self.batches)
        self.waited_s += clock() - start
        return batch


def micro_batches(args, sample, replica):
    size = args.micro_batch_size
    positions = torch.arange(args.seq_length, device=args.device).expand(size, -1)
    mask = torch.ones(1, 1, args.seq_length, args.seq_length, dtype=torch.bool, device=args.device).triu(1)
    for k in itertools.count(replica, args.dp):
        text = torch.stack([sample(n) for n in range(k * size, (k + 1) * size)]).to(args.device, non_blocking=True)
        yield text[:, :-1].contiguous(), positions, mask, text[:, 1:].contiguous()


def counting(args):
    """A function that gives synthetic sequence k, of one token more than the model reads.

    It counts on from a random number: a rule that a model can learn.
    """

    def sequence(k):
        start = torch.randint(args.vocabulary, (1,), generator=torch.Generator().manual_seed(args.seed + k))
        return (start + torch.arange(args.seq_length + 1)) % args.vocabulary

    return sequence


def indexed(args):
    """A function that gives sequence k of --data, of one token more than the model reads."""
    import numpy
    from megatron.core.datasets.gpt_dataset import GPTDataset, GPTDatasetConfig
    from megatron.core.datasets.indexed_dataset import IndexedDataset
    from megatron.core.datasets.utils import Split

    class Tokens:  # GPTDataset asks for a tokenizer, although the data are tokens already
        unique_identifiers, eod, pad, vocab_size = {"tokenizer": "none"}, -1, -1, args.vocabulary

    config = GPTDatasetConfig(
        random_seed=args.seed, sequence_length=args.seq_length, tokenizer=Tokens(), split="1", reset_position_ids=False,
        reset_attention_mask=False, eod_mask_loss=False, create_attention_mask=False,
        path_to_cache=str(args.out / "cache"),
    )  # fmt: skip
    for my_turn in (RANK == 0, RANK != 0):  # the first rank writes the index, the others read it
        if my_turn:
            tokens = IndexedDataset(str(args.data), multimodal=False, mmap=True)
            documents = numpy.arange(len(tokens.document_indices) - 1, dtype=numpy.int32)
            count = args.steps * args.global_batch_size
            dataset = GPTDataset(tokens, str(args.data), documents, count, Split.train, config)
        distributed.barrier()

    def sequence(k):
        sample = dataset[k]
        return torch.cat([sample["tokens"], sample["labels"][-1:]])

    return sequence
