"""Megatron's settings: the line of parallel sizes and the argument dump.

Tool: Megatron-LM, Megatron-DeepSpeed, GPT-NeoX, Primus
Versions: v1.0 to core 0.19
Yields: params
Source: megatron/training/arguments.py, validate_args() and _print_args(); gpt-neox: megatron/neox_arguments

Every argument becomes a row of `params` under its own name, those that `runs` asks for under the name used there.
Other settings than before start another part of the file.  The number of parameters follows from the shape.

Samples:
    using world size: 16, data-parallel-size: 1, tensor-model-parallel size: 4, pipeline-model-parallel size: 4
    using world size: 8, data-parallel size: 8, context-parallel size: 1 tensor-model-parallel size: 1, pipeline-model-parallel size: 1
    NeoXArgs.configure_distributed_args() using world size: 1 and model-parallel size: 1
     > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)
    ------------------------ arguments ------------------------
    -------------------- end of arguments ---------------------
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows
from scalelens.parsing.values import integer
from scalelens.tables import RUN_FACTS

VERSION = 2
ANCHORS = ("using world size: ", "- arguments -", "- end of arguments -", "padded vocab (size: ")

_SIZES = {
    "devices": re.compile(r"using world size: (\d+)"),
    "dp": re.compile(r"(?<!-)data-parallel[- ]size: (\d+)"),
    "cp": re.compile(r"(?<!hierarchical )context-parallel size: (\d+)"),
    "tp": re.compile(r"(?<!encoder-)tensor-model-parallel size: (\d+)|world size: \d+ and model-parallel size: (\d+)"),
    "pp": re.compile(r"(?<!encoder-)pipeline-model-parallel size: (\d+)"),
}
_ARGUMENT = re.compile(r"  ([A-Za-z_][\w-]*) *(\.*) *(.*)$")
_PRIMUS_ARGUMENT = re.compile(r"  ([A-Za-z_]\w*)\s*: (.*) \((\w+)\)\s*$")
_NEOX = re.compile(r"(.*?)(?<!\.)\.*(?:updated|default)$")
_CANONICAL = {
    "world_size": "devices", "data_parallel_size": "dp",
    "tensor_model_parallel_size": "tp", "model_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp", "pipe_parallel_size": "pp", "context_parallel_size": "cp",
    "micro_batch_size": "micro_batch_size", "train_micro_batch_size_per_gpu": "micro_batch_size",
    "global_batch_size": "global_batch_size", "train_batch_size": "global_batch_size", "seq_length": "seq_length",
}  # fmt: skip
_VOCABULARY = re.compile(r"padded vocab \(size: \d+\) with \d+ dummy tokens \(new size: (\d+)\)")
_PRECISIONS = {"torch.float32": "fp32", "torch.half": "fp16", "torch.float16": "fp16", "torch.bfloat16": "bf16"}
_RESERVED = {fact.name for fact in RUN_FACTS} - set(_CANONICAL.values())
# What may differ between two launches of the same run.
_INCIDENTAL = re.compile(
    r"load|save|path|dir|iteration|consumed|rank|port|addr|host|exit|wandb|tensorboard|name|time|file|seed_log"
)


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.sizes: dict[str, int] = {}
        self.settings: dict[str, str] = {}  # of the dump before
        self.dump: dict[str, tuple[str, int]] | None = None  # the dump being read: value and line by name
        self.unsized: tuple[dict[str, str], int] | None = (
            None  # arguments whose vocabulary is not known yet, and their line
        )

    def take(self, line: Line) -> bool:
        self.claims = None
        if "using world size: " in line.text:
            return self.world(line)
        if "- end of arguments -" in line.text:
            self.settle()
            return True
        if vocabulary := _VOCABULARY.search(line.text):
            self.rows.param("padded_vocab_size", int(vocabulary[1]), line.number)
            self.shape(int(vocabulary[1]))
            return True
        if "- arguments -" not in line.text:
            return False
        self.settle()
        self.dump = {}
        self.claims = re.compile(r"(?!-+ end of arguments)")
        return True

    def more(self, line: Line) -> None:
        """A line of the dump; lines that are not an argument (values of several lines) are passed over."""
        if match := _PRIMUS_ARGUMENT.match(line.text):
            name, value = match[1], match[2]
        elif (match := _ARGUMENT.match(line.text)) and (match[2] or len(match[1]) > 24):
            name, value = match[1], match[3].rstrip()
            if neox := _NEOX.match(value):
                value = neox[1].rstrip(".")
        else:
            return
        if self.dump is not None:
            self.dump.setdefault(name, (value, line.number))

    def finish(self) -> None:
        self.settle()
        self.shape(None)

    def world(self, line: Line) -> bool:
        """`using world size`: separators differ between versions, so each size is looked for by itself."""
        sizes = {key: int(m[1] or m[m.lastindex or 1]) for key, size in _SIZES.items() if (m := size.search(line.text))}
        if "devices" not in sizes:
            return False
        if self.sizes and any(self.sizes.get(key, value) != value for key, value in sizes.items()):
            self.shape(None)
            self.rows.new_part()
            self.settings = {}
        self.sizes = sizes
        for key, value in sizes.items():
            self.rows.param(key, value, line.number)
        return True

    def settle(self) -> None:
        """The dump ended: its arguments are facts of this part, or of the next where they differ from those before."""
        if not self.dump:
            return
        dump, self.dump, self.claims = self.dump, None, None
        settings = {name: value for name, (value, _) in dump.items() if not _INCIDENTAL.search(name)}
        if self.settings and settings != self.settings:
            self.shape(None)
            self.rows.new_part()
            for size, count in self.sizes.items():
                self.rows.param(size, count, next(iter(dump.values()))[1])
        self.settings = settings
        for name, (value, number) in dump.items():
            if fact := _CANONICAL.get(name):
                if value.isdigit() and (value != "0" or fact != "pp"):
                    self.rows.param(fact, int(value), number)
            elif name == "params_dtype" and value in _PRECISIONS:
                self.rows.param("precision", _PRECISIONS[value], number)
            elif name in ("bf16", "fp16") and value == "True":
                self.rows.param("precision", name, number)
            else:
                self.rows.param(f"argument.{name}" if name in _RESERVED else name, value, number)
        arguments = {name: value for name, (value, _) in dump.items()}
        self.unsized = (arguments, next(iter(dump.values()))[1])
        if vocabulary := integer(arguments.get("padded_vocab_size")):
            self.shape(vocabulary)

    def shape(self, vocabulary: int | None) -> None:
        """Model and its size, from the layers; a mixture of experts is named and not counted."""
        if not self.unsized:
            return
        (arguments, number), self.unsized = self.unsized, None
        layers, hidden = integer(arguments.get("num_layers")), integer(arguments.get("hidden_size"))
        if not layers or not hidden:
            return
        experts = integer(arguments.get("num_experts")) or integer(arguments.get("moe_num_experts")) or 0
        size = ""
        if vocabulary and experts < 2:
            parameters = _count_parameters(arguments, layers, hidden, vocabulary)
            self.rows.param("parameters", parameters, number, origin="inferred")
            size = f"-{_short(parameters)}"
        self.rows.param(
            "model", f"gpt{size}-{layers}x{hidden}" + (f"-{experts}e" if experts > 1 else ""), number, origin="inferred"
        )


def _short(parameters: int) -> str:
    """`175b`, `1.01t`: three digits and the letter of millions, billions or trillions."""
    unit, letter = next((at for at in ((1e12, "t"), (1e9, "b")) if parameters >= 0.9995 * at[0]), (1e6, "m"))
    return f"{parameters / unit:.3g}{letter}"


def _count_parameters(arguments: dict[str, str], layers: int, hidden: int, vocabulary: int) -> int:
    """Parameters of a GPT as Megatron builds it from these arguments: attention, MLP, norms, embeddings."""

    def on(name: str, default: str = "False") -> bool:
        return arguments.get(name, default) == "True"

    heads = integer(arguments.get("num_attention_heads")) or 1
    width = (integer(arguments.get("kv_channels")) or hidden // heads) * heads
    groups = integer(arguments.get("num_query_groups")) if on("group_query_attention") else None
    keys = width * (groups or heads) // heads
    inner = integer(arguments.get("ffn_hidden_size")) or 4 * hidden
    gates = 2 if on("swiglu") else 1
    biased = on("add_bias_linear", "True")
    norm = hidden if arguments.get("normalization") == "RMSNorm" else 2 * hidden
    weights = hidden * (width + 2 * keys) + width * hidden + (gates + 1) * hidden * inner
    biases = (width + 2 * keys + hidden + gates * inner + hidden) if biased else 0
    positions = 0
    if arguments.get("position_embedding_type", "learned_absolute").endswith("learned_absolute"):
        positions = hidden * (integer(arguments.get("max_position_embeddings")) or 0)
    tables = 2 if on("untie_embeddings_and_output_weights") else 1
    return layers * (weights + biases + 2 * norm) + norm + tables * vocabulary * hidden + positions
