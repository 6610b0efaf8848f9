"""The configuration of a run as a program holds it: nested names and values, as facts under canonical names.

Each value is a fact under its own name, nested names joined by dots.  A name that means one thing, whoever wrote the
program, gives the fact of that meaning too, wherever it is nested, unless the configuration has several values for it.
"""

import functools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from scalelens import catalog
from scalelens.parsing import lazy_re as re
from scalelens.parsing.model_paths import model_of_path
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import integer_valued
from scalelens.tables import RUN_FACTS

# Arguments that mean one thing, whoever wrote the script.
ARGUMENTS = {
    "per_device_train_batch_size": "micro_batch_size", "micro_batch_size": "micro_batch_size",
    "global_batch_size": "global_batch_size", "seq_length": "seq_length",
    "tensor_model_parallel_size": "tp", "tensor_parallel_size": "tp", "tp": "tp",
    "pipeline_model_parallel_size": "pp", "pipeline_parallel_size": "pp", "pp": "pp",
    "context_parallel_size": "cp", "data_parallel_size": "dp",
}  # fmt: skip
_COUNTS = ARGUMENTS | {
    "world_size": "devices", "num_nodes": "nodes", "nnodes": "nodes", "gpus_per_node": "devices_per_node",
    "train_micro_batch_size_per_gpu": "micro_batch_size",
}  # fmt: skip
_WORDS = {
    "model": "model", "model_name": "model", "model_name_or_path": "model", "arch": "model", "dataset": "dataset",
    "dataset_name": "dataset",
}  # fmt: skip
_FLAGS = ("bf16", "fp16")
_PRECISION = ("precision", "mixed_precision", "params_dtype", "dtype")
_PRECISIONS = {
    "float32": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "32": "fp32", "16": "fp16",
    "fp32": "fp32", "tf32": "tf32", "fp16": "fp16", "bf16": "bf16", "fp8": "fp8", "32-true": "fp32",
    "16-mixed": "fp16", "16-true": "fp16", "bf16-mixed": "bf16", "bf16-true": "bf16",
}  # fmt: skip
_EMPTY = {"none", "null", "true", "false"}
# Sizes of a model or of its input, and what a model is, as scripts of one's own call them.
_SIZE = re.compile(
    r"(?:model_)?(?:(?:n|num|number_of)_)?(?:(?:hidden|embed(?:ding)?|emb|latent|model|ffn?|mlp|head|enc(?:oder)?"
    r"|dec(?:oder)?|d)_?(?:dims?|dimensions?|size|units|width|depth|layers?|heads?|blocks?|channels)"
    r"|dims?|width|depth|layers?|heads?|blocks|channels|filters|experts|units|hidden)"
    r"|(?:max_)?(?:seq(?:uence)?|context|block|ctx)_?(?:len(?:gth)?|size)"
    r"|(?:image|img|input|crop|patch|kernel|vocab)_?(?:size|dim)|(?:n|num|number_of)_?(?:gpus|devices)"
)
_KIND = re.compile(r"backbone|architecture|network|encoder")
_WHOLE = re.compile(r"[(\[]?\d+(?:(?: ?x ?|, ?| )\d+)*[)\]]?")
_RESERVED = {fact.name for fact in RUN_FACTS}
_MOST = 10_000  # values
_LONGEST = 500  # characters
_DEEPEST = 20
_LONGEST_PATH = 500  # characters of the names around a value


@functools.cache
def settings_of_speed() -> frozenset[str]:
    """The names of settings that can change the speed of a training."""
    named = {
        key for row in catalog.rows("settings_catalog") if row["class"] == "performance" for key in row["keys"].split()
    }
    return frozenset(named | ARGUMENTS.keys() | _COUNTS.keys() | _WORDS.keys() | {*_FLAGS, *_PRECISION})


def is_of_a_model(name: str, value: Any) -> bool:
    """Whether a setting is a size of a model or of its input, or says what the model is."""
    text = str(value)
    return bool(_SIZE.fullmatch(name) and _WHOLE.fullmatch(text)) or bool(_KIND.fullmatch(name) and text[:1].isalpha())


@functools.cache
def _settings() -> frozenset[str]:
    return frozenset(key for row in catalog.rows("settings_catalog") for key in row["keys"].split())


def write_configuration(
    configuration: Mapping[str, Any], rows: Rows, line: int | None = None, known: Collection[str] = ()
) -> None:
    """Facts of a configuration.  Lists, empty values and what is nested in lists are passed over.

    The facts that are `known` come from elsewhere: a setting that is called as one of them is another thing.
    """
    leaves: dict[str, set[str]] = {}
    facts: dict[str, set[str]] = {}
    nested: set[str] = set()
    for count, (name, leaf, value) in enumerate(_values(configuration)):
        if count >= _MOST:
            rows.problem(line, f"the configuration has more than {_MOST:,} values: the others are not kept")
            break
        text = str(value)[:_LONGEST]
        if name in known:
            rows.param(f"argument.{name}", text, line)
        elif name not in _RESERVED:
            rows.param(name, text, line)
        elif (_fact_of(leaf, value) or ("",))[0] != name:
            rows.param(f"argument.{name}", text, line)
        leaves.setdefault(leaf, set()).add(text)
        nested |= {leaf} if leaf != name else set()
        if fact := _fact_of(leaf, value):
            facts.setdefault(fact[0], set()).add(fact[1])
    for leaf in sorted((nested & _settings()) - _RESERVED - {*known}):
        if len(leaves[leaf]) == 1 and leaf not in configuration:
            rows.param(leaf, next(iter(leaves[leaf])), line)
    for key, values in facts.items():
        if len(values) == 1 and key not in known:
            rows.param(key, next(iter(values)), line)


def _values(nested: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str, Any]]:
    """Whole name, last part of it, and value of each plain value."""
    for name, value in nested.items():
        if isinstance(value, dict):
            if before.count(".") < _DEEPEST and len(before) + len(str(name)) <= _LONGEST_PATH:
                yield from _values(value, f"{before}{name}.")
        elif isinstance(value, str | int | float) and value != "":
            yield f"{before}{name}", str(name).rpartition(".")[2].rpartition("/")[2], value


def _fact_of(leaf: str, value: Any) -> tuple[str, str] | None:
    """A column of `runs` that a value says."""
    text = str(value)
    if leaf in _COUNTS and not isinstance(value, bool):
        count = integer_valued(value)
        return (_COUNTS[leaf], str(count)) if count and count < 1 << 31 else None
    if leaf in _WORDS:
        if not isinstance(value, str) or text.lower() in _EMPTY:
            return None
        return _WORDS[leaf], (model_of_path(text) if _WORDS[leaf] == "model" else text)[:_LONGEST]
    if leaf in _FLAGS:
        return ("precision", leaf) if text.lower() == "true" else None
    if leaf in _PRECISION and (known := _PRECISIONS.get(text.lower().removeprefix("torch."))):
        return "precision", known
    return None
