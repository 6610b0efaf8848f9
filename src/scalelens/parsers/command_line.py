"""The command that started the training, as a shell or a launcher echoes it.

Tool: bash with set -x, DeepSpeed's launcher, scripts that print their command, one that begins with its launcher
Versions: any
Yields: params
Source: bash, shell_builtins/set; deepspeed/launcher/runner.py, main(); deepspeed/launcher/launch.py, main()

Every argument after the script (`*.py` or `-m module`) becomes a row of `params` under its own name, with underscores;
an argument without a value is True, `--no-x` is x = False.  `--config_overrides a=1,b=2` and the like give a and b.
What `runs` asks for gets its name there where the argument can mean nothing else, and nothing else of the file says it.
Arguments of launchers are passed over, but for how many processes one launcher starts in all (`mpirun -np`, `srun -n`,
`torchrun` with its nodes and processes of a node): that many devices train where nothing else says how many, as every
process of DDP, FSDP and Horovod has one of its own.

A command belongs to the step records that follow it.  One that no record follows is passed over: it prepared the data,
evaluated, or failed, and a file without records may lie next to the log of another launch.  Another script than that of
the records before begins another run, unless its name says that it does not train.
Where a quotation goes on in the next line, the arguments of the first line count, without its last one.

Samples:
    + CMD='pretrain.py --micro_batch_size 4 --config_overrides n_embd=1024,n_layer=24 --fp16'
    [2026-01-02 03:04:05,678] [INFO] [runner.py:630:main] cmd = /usr/bin/python3 -u -m deepspeed.launcher.launch --master_port=29500 train.py --zero_stage 2 --deepspeed
    [2026-01-02 03:04:05,678] [INFO] [launch.py:272:main] process 4711 spawned with command: ['/usr/bin/python3', '-u', 'train.py', '--local_rank=0', '--zero_stage', '2']
    Command: torchrun --nproc_per_node 4 train.py --bf16 --tp 4
    + python -m project.train --batch-size=64
    mpirun -np 8 --bind-to core python train_tiny.py --layers 4
"""

import functools
import itertools
import shlex
from collections.abc import Sequence

from scalelens.parsing import lazy_re as re
from scalelens.parsing.configurations import ARGUMENTS
from scalelens.parsing.dispatch import Line
from scalelens.parsing.model_paths import model_of_path
from scalelens.parsing.rows import Rows
from scalelens.tables import RUN_FACTS

VERSION = 4
ANCHORS = (".py ", ".py', '-", "python -m ", "python3 -m ", "python -u -m ", "python3 -u -m ")

_LOGGER = r"(?:\[\d{1,6}\] )?(?:\[[\d :,.-]{10,30}\] \[INFO\] \[(?:runner|launch)\.py:\d+:\w+\] )?"
_HEAD = re.compile(
    _LOGGER + r"(?:\+{1,4} (?:export )?|(?=\w*(?:CMD|COMMAND)=)|cmd = |(?:Command|command|Command line|command line): ?"
    r"|process \d+ spawned with command: (?=\[)|(?=(?:mpirun|mpiexec|srun|torchrun|accelerate launch) ))"
)
_LONGEST = 50_000  # characters
_LONGEST_COUNT = 6  # digits
_QUOTING = {"'", '"', "\\"}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SCRIPT = re.compile(r"[\w./~${}-]+\.py")
_PYTHON = re.compile(r"(?:.*/)?(?:python[\d.]*|torchrun|accelerate|deepspeed)")
_LAUNCHER = re.compile(
    r"torch\.distributed\.(?:run|launch)|deepspeed(?:\.launcher\..*)?|.*launch|bind.*|cProfile|pdb|pip"
)
# Options that say how many processes a launcher starts: in all, or so many nodes with so many on each.
_IN_ALL = {
    "mpirun": ("-np", "--np", "-n", "--n"), "mpiexec": ("-np", "-n", "--n"), "srun": ("-n", "--ntasks"),
    "accelerate": ("--num_processes",),
}  # fmt: skip
_ON_NODES = dict.fromkeys(
    ("torchrun", "torch.distributed.run", "torch.distributed.launch"),
    (("--nnodes",), ("--nproc_per_node", "--nproc-per-node")),
)
_END = re.compile(r"(?:[;|&]+|\d?>>?.*|<.*)\Z")
_OPTION = re.compile(r"--?([A-Za-z][\w.-]*)(?:=(.*))?\Z", re.DOTALL)
_OVERRIDES = re.compile(r"config_overrides|model_config_overrides|override_config|override")
_PAIRS = re.compile(r"[\w.]+=[^=,]*(?:,[\w.]+=[^=,]*)*")
_NAMED_MODEL = ("model", "model_name_or_path", "arch")
_PRECISIONS = ("bf16", "fp16")
_RESERVED = {fact.name for fact in RUN_FACTS}
_TRAINS_NOTHING = re.compile(
    r"eval|infer|test|generat|sampl|serve|convert|prep|process|tokeni|download|plot|merge|export|upload", re.IGNORECASE
)
_OF_A_RANK = ("local_rank", "local-rank", "node_rank")


class Reader:
    claims = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.command: tuple[dict[str, str], int, int] | None = None  # the last one: arguments, processes (or 0), line
        self.script: tuple[str, int] | None = None  # that trains, and the line of its first command

    def take(self, line: Line) -> bool:
        head = _HEAD.match(line.text)
        if not head or len(line.text) > _LONGEST:
            return False
        words = _words_of(line.text[head.end() :])
        arguments = _arguments_of(words)
        if not arguments:
            return False
        self.conclude()
        end = _script_end(words)
        self.begin(words[end - 1].rpartition("/")[2], line.number)
        self.command = arguments, _processes_of(words[:end]), line.number
        return True

    def begin(self, script: str, number: int) -> None:
        """Begins another run where another script trains after the records of the one before."""
        if _TRAINS_NOTHING.search(script):
            return
        if self.script and script != self.script[0] and self.rows.last_step_line > self.script[1]:
            self.rows.announce_part()
            self.script = None
        self.script = (script, self.script[1]) if self.script and self.script[0] == script else (script, number)

    def conclude(self) -> None:
        if self.command and self.rows.last_step_line > self.command[2]:
            self.write(*self.command)

    def write(self, arguments: dict[str, str], processes: int, number: int) -> None:
        for name, value in arguments.items():
            self.rows.param(f"argument.{name}" if name in _RESERVED else name, value, number)
        facts = _facts_of(arguments)
        for fact, values in facts.items():
            if len(values) == 1 and fact not in self.rows.params:
                self.rows.param(fact, next(iter(values)), number)
        if processes and "devices" not in self.rows.params:
            self.rows.param("devices", str(processes), number, origin="inferred")


@functools.lru_cache(maxsize=64)  # each result of a submission prints the same commands
def _words_of(text: str) -> Sequence[str]:
    """The words of a command, as the shell divides it.  What an assignment holds (`CMD='train.py --lr 1'`) is the command."""
    try:
        if text.startswith("["):
            return [word.encode().decode("unicode_escape") for word in re.findall(r"'((?:[^'\\]|\\.)*)'", text)]
        words = _open_quotation_closed(text)
        if len(words) == 1 and (assignment := _ASSIGNMENT.match(words[0])):
            words = shlex.split(words[0][assignment.end() :])
    except ValueError:
        return []
    return words


def _open_quotation_closed(text: str) -> list[str]:
    """The words; where a quotation is open, what it holds so far without its last option.

    Raises ValueError where the quotation marks make no sense otherwise either.
    """
    if text.isprintable() and _QUOTING.isdisjoint(text):  # most are: the shell's rules take long
        return text.split()
    try:
        return shlex.split(text)
    except ValueError:
        return shlex.split(text[: text.rfind(" -")] + "'")


def _arguments_of(words: Sequence[str]) -> dict[str, str]:
    """Arguments after the script, by name; none where there is no script, or no option with two dashes."""
    start = _script_end(words)
    arguments: dict[str, str] = {}
    name, values, is_named = "", list[str](), False
    for word in [*words[start:], ";"] if start else []:
        option = _OPTION.match(word)
        if not option and not _END.match(word):
            values.append(word)
            continue
        if name:
            arguments.update(_argument(name, " ".join(values)))
        if not option or word.endswith(";"):
            break
        name, values = option[1], [] if option[2] is None else [option[2]]
        is_named |= word.startswith("--")
    return arguments if is_named else {}


def _script_end(words: Sequence[str]) -> int:
    """Place after the script or module that is run; 0 where there is none."""
    is_python = False
    for place, word in enumerate(words):
        if _SCRIPT.fullmatch(word):
            return place + 1
        if word == "-m" and is_python and place + 1 < len(words) and not _LAUNCHER.fullmatch(words[place + 1]):
            return place + 2
        is_python |= bool(_PYTHON.fullmatch(word))
    return 0


def _processes_of(words: Sequence[str]) -> int:
    """How many processes the launcher before a script starts; 0 where it does not say, or where there are several."""
    launchers = [place for place, word in enumerate(words) if _launcher(word) in _IN_ALL | _ON_NODES]
    if len(launchers) != 1:
        return 0
    name, options = _launcher(words[launchers[0]]), words[launchers[0] + 1 :]
    if name in _IN_ALL:
        return _count(options, _IN_ALL[name], 0)
    nodes, on_each = _ON_NODES[name]
    return _count(options, nodes, 1) * _count(options, on_each, 0)


def _launcher(word: str) -> str:
    return word.rpartition("/")[2]


def _count(words: Sequence[str], options: tuple[str, ...], otherwise: int) -> int:
    """The number that an option has; `otherwise` where it is not there, 0 where it has another value or comes twice."""
    values = [after for word, after in itertools.pairwise([*words, ""]) if word in options]
    values += [word.partition("=")[2] for word in words if word.partition("=")[0] in options and "=" in word]
    if not values:
        return otherwise
    return int(values[0]) if len(values) == 1 and values[0].isdecimal() and len(values[0]) <= _LONGEST_COUNT else 0


def _argument(name: str, value: str) -> dict[str, str]:
    """An argument under its own name; overrides under the names that they give."""
    if name in _OF_A_RANK:
        return {}
    if name.startswith("no-") and not value:
        return {name.removeprefix("no-").replace("-", "_"): "False"}
    name = name.replace("-", "_")
    if _OVERRIDES.fullmatch(name) and _PAIRS.fullmatch(value):
        return dict(pair.split("=", 1) for pair in value.split(","))
    return {name: value or "True"}


def _facts_of(arguments: dict[str, str]) -> dict[str, set[str]]:
    """Columns of `runs` that the arguments say, each with all values."""
    facts: dict[str, set[str]] = {}
    for name, value in arguments.items():
        if name in ARGUMENTS and value.isdecimal() and 0 < len(value) <= 9 and int(value):
            facts.setdefault(ARGUMENTS[name], set()).add(str(int(value)))
        elif name in _NAMED_MODEL and value != "True":
            facts.setdefault("model", set()).add(model_of_path(value))
        elif name in _PRECISIONS and value.lower() == "true":
            facts.setdefault("precision", set()).add(name)
    return facts
