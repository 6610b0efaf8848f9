"""verl's configuration, as it is printed before the training.

Tool: verl
Versions: 0.2 and later
Yields: params
Source: verl/trainer/main_ppo.py, TaskRunner.run(): pprint of the resolved configuration

A dictionary of Python over hundreds of lines, mostly with Ray's label before each.  Ray leaves out lines that it printed
before, so that the whole need not be complete: which dictionary an entry is of shows the column of its key.  `train_batch_size` counts prompts, of
which each has `rollout.n` answers: it is kept under its own name, and is not the batch in samples.

Samples:
    {'actor_rollout_ref': {'actor': {'strategy': 'fsdp'}},
    (TaskRunner pid=4711) {'actor_rollout_ref': {'actor': {'checkpoint': {'load_contents': ['model',
"""

from scalelens.parsing import lazy_re as re
from scalelens.parsing.dispatch import Line
from scalelens.parsing.rows import Rows

VERSION = 1
ANCHORS = ("{'actor_rollout_ref': {",)

_LABEL = r"(?:\(\w{1,99} pid=\d+(?:, ip=[\d.]+)?\) )?"  # Ray's, where another launcher's comes before it
_BEGIN = re.compile(rf"({_LABEL})\{{'actor_rollout_ref': \{{")
_MORE = re.compile(rf"({_LABEL}) +[]'\"{{}}\[(]|\(\w{{1,99}} pid=\d")
_ENTRY = re.compile(r"'(\w{1,99})': (?:(\d{1,9})(?=[,}]|$)|'([^']{1,999})'(?=[,}]|$))?")
_FACTS = {
    ("data", "train_batch_size"): "train_batch_size", ("data", "max_prompt_length"): "max_prompt_length",
    ("data", "max_response_length"): "max_response_length", ("actor_rollout_ref", "rollout", "n"): "rollout_n",
    ("actor_rollout_ref", "rollout", "name"): "rollout_engine",
    ("actor_rollout_ref", "rollout", "tensor_model_parallel_size"): "rollout_tp",
    ("actor_rollout_ref", "actor", "strategy"): "strategy", ("actor_rollout_ref", "model", "path"): "model",
    ("algorithm", "adv_estimator"): "algorithm", ("trainer", "experiment_name"): "run_name",
    ("trainer", "n_gpus_per_node"): "devices_per_node", ("trainer", "nnodes"): "nodes",
}  # fmt: skip
_DEEPEST = max(map(len, _FACTS))


class Reader:
    claims: re.Pattern[str] | None = None

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.path: list[tuple[int, str]] = []  # the keys that enclose a value, each with its column
        self.sizes: dict[str, int] = {}
        self.label = ""

    def take(self, line: Line) -> bool:
        begin = _BEGIN.match(line.text)
        if begin:
            self.claims, self.path, self.sizes, self.label = _MORE, [], {}, begin[1]
            self.rows.param("framework", "verl", line.number)
            self._entries(line.text[begin.end(1) :], line.number)
        return bool(begin)

    def more(self, line: Line) -> None:
        more = _MORE.match(line.text)
        if more and more[1] == self.label:
            self._entries(line.text[more.end(1) :], line.number)

    def _entries(self, text: str, number: int) -> None:
        """Notes the facts among the entries of a line.  Keys of one dictionary are in one column."""
        for entry in _ENTRY.finditer(text):
            while self.path and self.path[-1][0] >= entry.start():
                self.path.pop()
            self.path.append((entry.start(), entry[1]))
            fact = _FACTS.get(tuple(key for _, key in self.path)) if len(self.path) <= _DEEPEST else None
            if fact == "model" and entry[3]:
                self.rows.param(fact, entry[3].rstrip("/").rpartition("/")[2] or None, number)
            elif fact and entry[2]:
                self.rows.param(fact, int(entry[2]), number)
                self.sizes[fact] = int(entry[2])
            elif fact and entry[3]:
                self.rows.param(fact, entry[3], number)
            if fact in ("nodes", "devices_per_node") and {"nodes", "devices_per_node"} <= self.sizes.keys():
                self.rows.param("devices", self.sizes["nodes"] * self.sizes["devices_per_node"], number)
