"""Advice that is printed is obeyed to the letter: it is gone then, and the answer is right.

`OBEYED` has a case for each advice in SQL and for those about a sidecar in Python; a new one without a case fails
`test_every_advice_has_a_case`.  Commands that messages name are checked by `test_named_commands_are_there`.
"""

import ast
import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import scalelens
from asking import ask_sql
from command_line import Run
from conftest import ROOT
from scalelens.charts import history
from scalelens.cli.pasting import in_warehouse
from scalelens.errors import UserError
from scalelens.queries import load as queries
from scalelens.runs.sidecar import SIDECAR_NAME
from sizes import BASE_S, EFFICIENCIES, ingested, write_log, write_weak_study

SOURCES = ROOT / "src" / "scalelens"
# What tells advice from other sentences, in SQL and in Python.  The commands of repeat_commands are those of test_compare.
IN_SQL = re.compile(
    r"\bset \w+ = |scalelens (?!bench)\w+|\bsee [a-z]|\bcompare them|series_by, or|\bmove its|\brun a |includes them"
)
IN_PYTHON = re.compile(r"\bset [\w{}]+ = .*scalelens\.toml")
SETTING = re.compile(r'(\w+) = (\.\.\.|"\.\.\."|\[[^\]]*\])(?: under \[(\w+)\])?')
COMMAND = re.compile(r"scalelens ((?:query|plot|explain|identify|label|sql|ingest|check|compact|forget) [^;:]+)")
# Efficiency by devices, as `scaling` has it.
EFFICIENCY = "SELECT scaling, devices, round(efficiency, 6) FROM scaling() ORDER BY ALL"
WEAK = [("weak", devices, efficiency) for devices, efficiency in EFFICIENCIES.items()]
OF_ONE_MODEL = {"model": "resnet50", "system": "lumi", "device_model": "MI250X"}

Make = Callable[[Path], object]


class Advice(NamedTuple):
    """A study that makes the advice appear, and what must be true once it was followed."""

    make: Make
    asked: str  # of the command line, without the warehouse
    advice: str  # regular expression of the text
    truth: Mapping[str, object] = {}  # what stands for `...`, by key
    right: tuple[str, list[tuple[Any, ...]]] | None = None  # SQL and its answer
    choice: int = 0  # which of several settings is followed
    follow: Callable[[str, Path], object] | None = None  # for advice that is neither a setting nor a command


def sizes(**facts: object) -> Make:
    return lambda folder: write_weak_study(folder, **facts)


def named(names: Mapping[int, str], **facts: object) -> Make:
    """A study whose logs do not state the devices, by the path of each size."""

    def make(folder: Path) -> None:
        for devices, name in names.items():
            step_s = BASE_S / EFFICIENCIES[devices]
            write_log(folder / name, step_s, micro_batch_size=256, **OF_ONE_MODEL, **facts)

    return make


def nodes_alone(folder: Path) -> None:
    for name, (devices, efficiency) in zip("abc", EFFICIENCIES.items(), strict=True):
        step_s = BASE_S / efficiency
        write_log(folder / f"{name}.csv", step_s, nodes=devices // 8, micro_batch_size=256, **OF_ONE_MODEL)


def pipeline(folder: Path) -> None:
    for devices, efficiency in EFFICIENCIES.items():
        path = folder / f"pp2_{devices}" / "train.csv"
        write_log(path, BASE_S / efficiency, devices=devices, micro_batch_size=4, **OF_ONE_MODEL)
        shutil.move(path.parent, folder / f"w{devices}" / "pp2")


def rates(folder: Path, name: str = "samples_per_s", devices: bool = True) -> None:
    """Logs of a rate, without a time."""
    for size, efficiency in EFFICIENCIES.items():
        rate = 100 * (size if name == "samples_per_s" else 1) * efficiency
        facts = {**OF_ONE_MODEL, **({"devices": size} if devices else {})}
        rows = [f"{step},{rate + 1e-3 * (step % 2)},{','.join(map(str, facts.values()))}" for step in range(1, 41)]
        path = folder / f"w{size}" / "train.csv"
        path.parent.mkdir(parents=True)
        path.write_text("\n".join([f"step,{name},{','.join(facts)}", *rows]) + "\n")


def one_rate(folder: Path) -> None:
    rates(folder)
    for size in (64, 512):
        shutil.rmtree(folder / f"w{size}")


def losses(folder: Path) -> None:
    (folder / "it's").mkdir(parents=True)
    (folder / "it's" / "train.csv").write_text("step,loss\n" + "".join(f"{k},{10 / k}\n" for k in range(1, 41)))


def elsewhere(folder: Path) -> None:
    """Sizes that lie as those of two studies, on a system that no log names."""
    for place, devices in (("one/runs", 8), ("two/jobs", 64)):
        write_log(folder / place / "x" / "train.csv", BASE_S / EFFICIENCIES[devices], devices=devices,
                  micro_batch_size=256, model="resnet50", device_model="MI250X")  # fmt: skip


def two_precisions(folder: Path) -> None:
    for precision, devices in (("bf16", 8), ("fp16", 64)):
        write_log(folder / f"w{devices}" / "train.csv", 1.0, devices=devices, micro_batch_size=256,
                  precision=precision, **OF_ONE_MODEL)  # fmt: skip


def one_size(folder: Path) -> None:
    write_weak_study(folder, {8: 1.0}, micro_batch_size=256)


def one_size_twice(folder: Path) -> None:
    for step_s, name in ((1.0, "first try"), (1.1, "again")):
        write_log(folder / name / "train.csv", step_s, devices=8, micro_batch_size=256, **OF_ONE_MODEL)


def two_batches(folder: Path) -> None:
    one_size(folder)
    write_log(folder / "w64" / "train.csv", 1.0, devices=64, micro_batch_size=100, **OF_ONE_MODEL)


def one_batch_for_all(folder: Path) -> None:
    write_weak_study(folder, micro_batch_size=256)
    (folder / SIDECAR_NAME).write_text("[facts]\nglobal_batch_size = 256\n")


def scattered(folder: Path) -> None:
    write_weak_study(folder, micro_batch_size=256)
    write_log(folder / "again8" / "train.csv", 1.2, devices=8, micro_batch_size=256, **OF_ONE_MODEL)


def rivals(folder: Path) -> None:
    """Two ways to reach a global batch on as many devices."""
    for micro_batch, step_s in ((256, 1.0), (128, 1.1)):
        for devices, efficiency in EFFICIENCIES.items():
            path = folder / f"mb{micro_batch}" / f"w{devices}" / "train.csv"
            write_log(path, step_s / efficiency, devices=devices, micro_batch_size=micro_batch,
                      global_batch_size=256 * devices, **OF_ONE_MODEL)  # fmt: skip


def of_model(model: str, **facts: object) -> Make:
    def make(folder: Path) -> None:
        write_log(folder / "w8" / "train.csv", 1.0, devices=8, micro_batch_size=4, model=model, precision="bf16",
                  device_model="MI250X")  # fmt: skip
        labels = "".join(f"{key} = {value}\n" for key, value in facts.items())
        (folder / "w8" / SIDECAR_NAME).write_text(f"[labels]\n{labels}")

    return make


def all_left_out(folder: Path) -> None:
    path = write_log(folder / "train.csv", 1.0, devices=8)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]))


def move_into_named_folders(_: str, folder: Path) -> None:
    for name, devices in (("a.csv", 8), ("b.csv", 64), ("c.csv", 512)):
        (folder / f"gpus{devices}").mkdir()
        shutil.move(folder / name, folder / f"gpus{devices}" / name)


def run_the_size(advice: str, folder: Path) -> None:
    """A log of twice the devices, with the batch per device that the advice names."""
    (per_device,) = re.findall(r"a batch of (\d+) per device", advice)
    taken = {int(path.parent.name[1:]) for path in folder.glob("w*/train.csv")}
    devices = next(size for size in (16, 128, 256) if size not in taken)
    write_log(folder / f"w{devices}" / "train.csv", 1.0, devices=devices, micro_batch_size=per_device, **OF_ONE_MODEL)


NOT_COMPARED = "query not_compared"
OBEYED = {
    "devices in the folder of a run": Advice(
        named({size: f"{name}/train.csv" for size, name in zip(EFFICIENCIES, "abc", strict=True)}), NOT_COMPARED,
        r"^set devices = \.\.\. under \[facts\] in /", {"a": 8, "b": 64, "c": 512}, (EFFICIENCY, WEAK),
    ),
    "devices in names of files": Advice(
        named({size: f"size{size}.csv" for size in EFFICIENCIES}), NOT_COMPARED,
        r"^set templates = \[.*\] in .* if the number in its name counts devices", {}, (EFFICIENCY, WEAK),
    ),
    "nodes without their devices": Advice(
        nodes_alone, NOT_COMPARED, r"^set devices_per_node = \.\.\. under \[facts\] in /", {"devices_per_node": 8},
        (EFFICIENCY, WEAK),
    ),
    "devices in no name": Advice(
        named({size: f"{name}.csv" for size, name in zip(EFFICIENCIES, "abc", strict=True)}), NOT_COMPARED,
        r"^set devices = \.\.\. under \[facts\] in /.*/scalelens.toml, if its 3 runs have the same number; else move its file into a "
        r"folder gpusN, with N its number of devices, and forget where it was: scalelens forget ", {}, (EFFICIENCY, WEAK),
        follow=move_into_named_folders,
    ),
    "accumulation of a pipeline": Advice(
        pipeline, NOT_COMPARED, r"^set gradient_accumulation = .*: micro-batches of 4 that each of (4|32|256) replicas",
        {"gradient_accumulation": 8}, (EFFICIENCY, WEAK),
    ),
    "batch per device": Advice(
        sizes(), NOT_COMPARED, r"^set batch_per_device = .* the global batch over its (8|64|512) devices",
        {"batch_per_device": 256}, (EFFICIENCY, WEAK),
    ),
    "one global batch": Advice(
        lambda folder: [
            write_log(folder / f"w{n}" / "train.csv", 8 / n, devices=n, **OF_ONE_MODEL) for n in EFFICIENCIES
        ],
        NOT_COMPARED, r"or global_batch_size = \.\.\. where every size has the same", {"global_batch_size": 4096},
        (EFFICIENCY, [("strong", devices, 1) for devices in EFFICIENCIES]), choice=1,
    ),
    "batch of one device": Advice(
        lambda folder: write_log(folder / "w1" / "train.csv", 1.0, devices=1, **OF_ONE_MODEL), NOT_COMPARED,
        r"^set global_batch_size = \.\.\. under \[facts\] in scalelens.toml$", {"global_batch_size": 256},
        ("SELECT count(*) FROM runs WHERE global_batch_size = 256", [(1,)]),
    ),
    "system": Advice(
        elsewhere, NOT_COMPARED, r'^set system = "\.\.\." under \[facts\]', {"system": "lumi"}, (EFFICIENCY, WEAK[:2])
    ),
    "study": Advice(
        elsewhere, NOT_COMPARED, r'study = "\.\.\." under \[labels\]', {"study": "mine"}, (EFFICIENCY, WEAK[:2]), choice=1
    ),
    "a second size": Advice(
        one_size, NOT_COMPARED, r"^run a second size with a batch of 256 per device, or with a global batch of 2048",
        follow=run_the_size, right=("SELECT scaling, max(devices) FROM scaling() GROUP BY 1", [("weak", 16)]),
    ),
    "a size of the same batch": Advice(
        two_batches, NOT_COMPARED, r"^run a second size with a batch of 256 per device",
        follow=run_the_size, right=("SELECT scaling, max(devices) FROM scaling() GROUP BY 1", [("weak", 16)]),
    ),
    "a rate": Advice(rates, NOT_COMPARED, r"^scalelens query scaling metric=throughput$"),
    "printed TFLOP/s": Advice(
        lambda folder: rates(folder, "tflops_per_device"), NOT_COMPARED, r"^scalelens query scaling metric=tflops$"
    ),
    "no times": Advice(losses, NOT_COMPARED, r"^see what was read from its file: scalelens identify "),
    "other settings": Advice(two_precisions, NOT_COMPARED, r"^compare: scalelens query differences a=\w+ b=\w+$"),
    "no model": Advice(
        lambda folder: [
            write_log(folder / f"w{n}" / "train.csv", 1 / e, devices=n, micro_batch_size=256, system="lumi")
            for n, e in EFFICIENCIES.items()
        ],
        "query scaling", r'set model = "\.\.\." under \[facts\] in scalelens.toml', {"model": "resnet50"}, (EFFICIENCY, WEAK),
    ),
    "an impossible batch": Advice(
        one_batch_for_all, "query scaling", r"excludes a global batch of 256: see contradictions",
        follow=lambda _, folder: (folder / SIDECAR_NAME).unlink(), right=(EFFICIENCY, WEAK),
    ),
    "size of images": Advice(
        of_model("resnet50"), "query mfu", r"set image_size = \.\.\. under \[labels\]", {"image_size": 224},
        ("SELECT mfu > 0 FROM mfu()", [(True,)]),
    ),
    "channels of a U-Net": Advice(
        of_model("unet", image_size=256), "query mfu", r"set unet_channels = \.\.\. under \[labels\]",
        {"unet_channels": 64}, ("SELECT mfu > 0 FROM mfu()", [(True,)]),
    ),
}  # fmt: skip
# Advice that is followed by looking: the question that it names, and SQL that must find a row there.
LOOKED_AT = {
    "see contradictions": (one_batch_for_all, "query scaling", "FROM contradictions() WHERE origin = 'inferred'"),
    "compare them by differences(": (scattered, "query scaling", None),
    "series_by, or a label": (
        rivals, "query scaling", "SELECT count(*) FROM scaling(series_by := 'micro_batch_size') WHERE efficiency > 0 HAVING "
        "count(*) > 5 AND NOT bool_or(coalesce(note, '') LIKE '%several configurations%')",
    ),
    "see exclusions": (all_left_out, "query batch_cdf", "FROM exclusions() WHERE rule = 'warmup'"),
    "see by which rule": (all_left_out, "query not_compared", "FROM exclusions() WHERE rule = 'warmup'"),
    "see its step times": (one_size, "query not_compared metric=t_ep", "FROM batch_stats() WHERE step_s > 0"),
    "see its rates": (one_rate, "query not_compared", "FROM throughput() WHERE printed_samples_per_s > 0"),
    "exclude=none includes them": (
        all_left_out, "query batch_stats", "FROM batch_stats(exclude := 'none') WHERE step_s > 0"
    ),
}  # fmt: skip

# tests/test_run_names.py follows the first, test_a_refusal_names_a_command_that_works the others
IN_ERRORS = ("see the", "see why", "scalelens sql")


def texts(run: Run, asked: str, home: Path) -> list[str]:
    """All texts of an answer."""
    ran = run(*shlex.split(asked), "-w", home, "--format", "json")
    assert ran.code == 0, ran.err
    return [value for row in json.loads(ran.out or "[]") for value in row.values() if isinstance(value, str)]


def set_in_sidecar(advice: str, folder: Path, truth: Mapping[str, object], choice: int) -> None:
    """Writes what the advice says where it says it: into the folder that it names, else into that of the study."""
    settings = SETTING.findall(advice)
    key, written, section = settings[choice]
    section = section or settings[0][2]
    place = re.search(r" in (/\S+)/scalelens\.toml", advice)
    folder = Path(place[1]) if place else folder
    value = written if written.startswith("[") else json.dumps(truth.get(key, truth.get(folder.name)))
    text = f"[{section}]\n{key} = {value}\n" if section else f"{key} = {value}\n"
    tomllib.loads(text)
    (folder / SIDECAR_NAME).write_text(text)


@pytest.mark.parametrize("name", OBEYED)
def test_advice_that_is_obeyed_is_gone_and_right(run: Run, tmp_path: Path, name: str) -> None:
    case, logs, home = OBEYED[name], tmp_path / "logs", tmp_path / "w"
    case.make(logs)
    ingested(logs, home)
    given = [text for text in texts(run, case.asked, home) if re.search(case.advice, text)]
    assert given
    if case.follow:
        case.follow(given[0], logs)
    for advice in given:
        if command := COMMAND.search(advice):
            words = shlex.split(command[1])
            ran = run(*words, *(["-w", home] if words[0] in ("query", "forget") else []))
            assert ran.code == 0 and (words[0] == "forget" or len(ran.out.splitlines()) > 1), ran
        elif not case.follow:
            set_in_sidecar(advice, logs, case.truth, case.choice)
    if case.right:
        assert run("ingest", logs, "-w", home).code == 0
        statement, answer = case.right
        rows = ask_sql(home, statement).rows()
        assert [row[:-1] for row in rows] == [row[:-1] for row in answer]
        assert [row[-1] for row in rows] == pytest.approx([row[-1] for row in answer], rel=1e-3)
        assert not any(re.search(case.advice, text) for text in texts(run, case.asked, home))


@pytest.mark.parametrize("advice", LOOKED_AT)
def test_what_advice_points_at_is_there(run: Run, tmp_path: Path, advice: str) -> None:
    make, asked, statement = LOOKED_AT[advice]
    make(tmp_path / "logs")
    home = ingested(tmp_path / "logs", tmp_path / "w")
    given = [text for text in texts(run, asked, home) if advice in text]
    assert given
    if statement is None:
        statement = "SELECT count(*) FROM " + re.findall(r"differences\(.*?\)", given[0])[0]
    assert ask_sql(home, statement).height


METRICS = ("t_b", "mean_s", "t_ep", "t_tr", "throughput", "tflops")
KINDS = ("samples_per_s", "tflops_per_device", "no devices", "times", "losses")


@pytest.mark.parametrize(("kind", "metric"), [
    # by day each kind with one metric
    pytest.param(kind, metric, marks=() if (k - n) % len(METRICS) == 0 else pytest.mark.slow)
    for n, kind in enumerate(KINDS) for k, metric in enumerate(METRICS)
])  # fmt: skip
def test_what_was_typed_is_never_advised(run: Run, tmp_path: Path, kind: str, metric: str) -> None:
    """`run` holds every command of the tests to it; commands that are advised can be pasted."""
    logs, home = tmp_path / "logs", tmp_path / "w"
    makes: dict[str, Make] = {
        "times": two_precisions,
        "losses": losses,
        "no devices": lambda to: rates(to, devices=False),
    }
    makes.get(kind, lambda folder: rates(folder, kind))(logs)
    ingested(logs, home)
    ran = run("query", "scaling", f"metric={metric}", "-w", home, "--format", "csv")
    assert ran.code == 0
    assert len(ran.out.splitlines()) > 1 or re.search(r"^\d runs?: ", ran.err), ran
    for line in ran.err.splitlines():
        if command := re.search(r"scalelens (.*)", line):
            words = shlex.split(command[1])
            assert words[0] == "identify" or words[-2:] == ["-w", str(home)]
            asked = run(*words)
            assert asked.code == 0 and len(asked.out.splitlines()) > 1, (words, asked)


def texts_of_sql(code: str) -> list[str]:
    """The texts of a statement; those that are joined by || are one.  Comments may hold apostrophes, too."""
    text = r"'(?:[^']|'')*'"
    tokens = re.findall(rf"--[^\n]*|{text}(?:\s*\|\|\s*{text})*", code)
    return [re.sub(r"'\s*\|\|\s*'", "", token) for token in tokens if not token.startswith("--")]


def without_case(texts: Iterable[str]) -> list[str]:
    """Texts with advice that no case of this page is about."""
    cases = " ".join([*(re.sub(r"\\", "", case.advice) for case in OBEYED.values()), *LOOKED_AT, *IN_ERRORS])
    beginnings = (
        (text, re.match(r"[\w]+ \w+", text[found.start() :])) for text in texts for found in IN_SQL.finditer(text)
    )
    return [text for text, words in beginnings if words and words[0] not in cases]


def test_every_advice_has_a_case() -> None:
    of_sql = (text for path in SOURCES.rglob("*.sql") for text in texts_of_sql(path.read_text(encoding="utf-8")))
    assert without_case(of_sql) == []
    of_python = [text for path, text in python_texts() if IN_PYTHON.search(text)]
    assert of_python == [
        "only {} tells the series apart, and no log on {} states it: if it was {} there, too, set {} = {} under [{}] in "
        "scalelens.toml",  # of split_series.py; test_alike.py obeys it
        "set {} = ... under [labels] in scalelens.toml",  # of model_work.py, twice
    ]


def test_advice_without_a_case_is_told() -> None:
    code = "-- it's\nSELECT CASE WHEN a THEN 'set ' || 'moon_phase = ... under [facts]' ELSE 'see contradictions' END"
    assert without_case(texts_of_sql(code)) == ["'set moon_phase = ... under [facts]'"]


def python_texts() -> list[tuple[Path, str]]:
    return [(path, text) for path in sorted(SOURCES.rglob("*.py")) for text in texts_of(path)]


@cache
def texts_of(path: Path) -> list[str]:
    """Texts of a source that are not docstrings; values that are filled in are `{}`."""
    texts = []
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    in_texts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    not_texts = in_texts | {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            texts.append("".join(map(str, parts)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in not_texts:
            texts.append(node.value)
    return texts


NAMED = re.compile(r"scalelens (query|plot) ([a-z]\w+)")  # questions and figures
NEED_PARAMETERS = {"differences", "compared_runs", "compare_published"}


@pytest.fixture(scope="module")
def weak_study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[scalelens.Study]:
    folder = tmp_path_factory.mktemp("weak")
    with scalelens.open(ingested(write_weak_study(folder / "logs", micro_batch_size=256), folder / "w")) as study:
        yield study


def is_there(study: scalelens.Study, verb: str, name: str) -> bool:
    """Whether a figure, or a question, is there; a question that needs no more than its name is asked."""
    if verb == "plot":
        return (SOURCES / "charts" / f"{name}.py").exists()
    if name in NEED_PARAMETERS or name not in queries.load():
        return name in queries.load()
    return study.query(name).columns == [column.name for column in queries.load()[name].columns]


def wrong_commands(study: scalelens.Study, texts: Iterable[str]) -> list[str]:
    """Of the questions and figures that texts name, those that are not there."""
    named = {command for text in texts for command in NAMED.findall(text)}
    return [f"{verb} {name}" for verb, name in sorted(named) if not is_there(study, verb, name)]


def test_named_commands_are_there(weak_study: scalelens.Study) -> None:
    texts = [text for _, text in python_texts()]
    assert sum(len(NAMED.findall(text)) for text in texts) > 30
    assert wrong_commands(weak_study, texts) == []


def test_a_named_command_that_is_not_there_is_told(weak_study: scalelens.Study) -> None:
    texts = ["scalelens query runz, or scalelens query review", "scalelens plot scaling, scalelens plot scalings"]
    assert wrong_commands(weak_study, texts) == ["plot scalings", "query runz"]


def test_messages_name_commands_that_are_there() -> None:
    named = {word for _, text in python_texts() for word in re.findall(r"(?:: |run |with: )scalelens ([a-z]+)\b", text)}
    there = {path.stem for path in (SOURCES / "cli").glob("*")}
    assert named and named <= there


def test_each_command_that_takes_a_warehouse_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a message names is about the warehouse that was named, whatever the command."""
    monkeypatch.setattr("sys.argv", ["scalelens", "query", "scaling", "-w", "my study"])
    files = (path for path in (SOURCES / "cli").glob("*.py") if ": WarehouseOption" in path.read_text(encoding="utf-8"))
    takes = [path.stem.replace("_", "-") for path in files] + ["trace export --rank 3"]
    assert len(takes) > 20
    assert [
        name for name in takes if in_warehouse(f"see: scalelens {name}") != f"see: scalelens {name} -w 'my study'"
    ] == []


def test_what_an_ingest_advises_runs(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the warehouse that was named; after a dry run there are no rows that could be seen."""
    monkeypatch.chdir(tmp_path)  # where the report is written
    logs, home = tmp_path / "logs", tmp_path / "w"
    logs.mkdir()
    shutil.copy(ROOT / "tests" / "fixtures" / "jpwr" / "damaged.csv", logs)
    ran = run("ingest", logs, "-w", home, "--dry-run")
    assert ran.code == 0 and "scalelens" not in ran.err
    ran = run("ingest", logs, "-w", home)
    given = [each for line in re.findall(r"scalelens (\w+ .*)", ran.err) for each in line.split(", scalelens ")]
    written = {"report": tmp_path / "report.html", "plot": tmp_path / "figure.pdf"}
    assert {command.split()[0] for command in given} == {"sql", "query", *written}, ran
    for command in given:
        asked, path = run(*shlex.split(command)), written.get(command.split()[0])
        said = path.read_bytes() if path else asked.out.encode()
        assert asked.code == 0 and len(said.splitlines()) > 1, (command, asked)


REFUSED = {
    "no runs to compare": (
        lambda folder: [folder.mkdir(), (folder / "notes.csv").write_text("a,b\nc,d\n")], "query differences"
    ),
    "a chart of one run": (one_size_twice, "plot step_times -o refused.pdf"),
    "a chart of one run, with parameters": (one_size_twice, "plot step_times exclude=none -o refused.pdf"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_names_a_command_that_works(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """As it stands, in the warehouse that was named."""
    monkeypatch.chdir(tmp_path)
    make, asked = REFUSED[case]
    make(tmp_path / "logs")
    home = ingested(tmp_path / "logs", tmp_path / "w")
    refused = run(*shlex.split(asked), "-w", home)
    assert refused.code == 2
    (command,) = re.findall(r": scalelens (\w+ .*)", refused.err)
    words = shlex.split(command)
    assert words[-2:] == ["-w", str(home)]
    assert {word for word in shlex.split(asked) if "=" in word} <= {*words}
    given = run(*words)
    assert given.code == 0, given
    if "-o" in words:
        assert Path(words[words.index("-o") + 1]).stat().st_size
    else:
        assert len(given.out.splitlines()) > 1


def test_a_history_of_single_runs_names_what_has_rows() -> None:
    """Runs of two configurations may state the same settings: their differences have no rows."""
    with pytest.raises(UserError, match="the only one of its configuration; .*: scalelens query run_values$"):
        history.draw(pl.DataFrame({"series": ["a", "b"]}), {})
