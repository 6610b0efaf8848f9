"""Sidecars: what a scalelens.toml says of files, when it counts, and what is wrong with it in exact words."""

import json
import os
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import answer, connect
from command_line import Run
from conftest import ROOT
from logs import megatron_line
from scalelens.cli.label import new_sidecar_text
from scalelens.ingestion import ingest as ingestion
from scalelens.ingestion.ingest import ingest
from scalelens.parsing.part_facts import PartFacts
from scalelens.queries import load as queries
from scalelens.runs.joining import runs_of
from scalelens.runs.sidecar import SIDECAR_NAME, NamedRun, Sidecars, sidecar_of
from scalelens.runs.templates import FACT_KINDS, compiled
from scalelens.warehouse.live import Live
from scalelens.warehouse.log import Warehouse
from scalelens.warehouse.records import Entry

DONE = "[after training is done] datetime: 2026-06-10 09:31:19 \n"
POWER = ",timestamps,pynvml:0\n0,1795238790.3,{:.1f}\n"


ASK_FOR_RUNS = {
    "differences", "two_sides", "compare", "compared_runs", "compare_evidence", "next_runs", "compared_traces",
    "node_scores", "what_if",
}  # fmt: skip


def write_log(path: Path, step_ms: float = 1000.0) -> Path:
    """A log whose content depends on its path, so that no two are the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    offset = sum(str(path).encode()) % 1000 / 10 + step_ms
    path.write_text("".join(megatron_line(step, offset + step % 7) for step in range(1, 6)) + DONE)
    return path


def write_sidecar(folder: Path, text: str, later: int = 0) -> Path:
    """A sidecar, with a time of change that differs however coarse the clock is."""
    path = folder / SIDECAR_NAME
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if later:
        status = path.stat()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + later * 10**9))
    return path


def ask(home: Path, statement: str) -> list[Any]:
    return answer(home, statement).fetchall()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Logs of two machines at two sizes."""
    for system in ("lumi", "alps"):
        for nodes in ("n01", "n02"):
            write_log(
                tmp_path / "logs" / system / "BF16" / nodes / "train.log", step_ms=2000 if nodes == "n01" else 1000
            )
    return tmp_path / "logs"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "warehouse"


# Templates


@pytest.mark.parametrize(
    ("template", "path", "found"),
    [
        ("{system}/{precision}/n{nodes:int}/*", "lumi/bf16/n008/x.log", {"system": "lumi", "precision": "bf16", "nodes": "8"}),
        ("{system}/{precision}/n{nodes}", "lumi/bf16/n8/deep/er/x.log", {"system": "lumi", "precision": "bf16", "nodes": "8"}),
        ("{system}/{precision}/n{nodes}/", "lumi/bf16/n8/x.log", {"system": "lumi", "precision": "bf16", "nodes": "8"}),
        ("{system}/{precision}/n{nodes}/*", "lumi/bf16/n8", None),
        ("{system}/n{nodes}", "lumi/nine/x.log", None),
        ("{system}/n{nodes}", "lumi/n8x/x.log", None),
        ("{system}/n{nodes}", "lumi/n0/x.log", None),
        ("n{nodes}", "n9999999999/x.log", None),
        ("**/n{nodes}", "a/b/n4/x.log", {"nodes": "4"}),
        ("**/n{nodes}", "n4/x.log", {"nodes": "4"}),
        ("a/**/n{nodes}/**", "a/n4/x.log", {"nodes": "4"}),
        ("*-{nodes}nodes*", "run-16nodes-b.log", {"nodes": "16"}),
        ("*{nodes}*", "run16.log", {"nodes": "16"}),
        ("{model}-n{nodes}.log", "gpt-n-n2.log", {"model": "gpt-n", "nodes": "2"}),
        ("*-{part}", "a-b-c", {"part": "b-c"}),
        ("{part}-*", "a-b-c", {"part": "a-b"}),
        ("{kind}*{size:int}", "run12", {"kind": "run", "size": "12"}),
        ("gen2{size:int}", "gen245", {"size": "45"}),
        ("{model}.log", "a.b.log", {"model": "a.b"}),
        ("{model}.log", "axlog", None),
        ("{device_unit}/*", "gcd/x.log", {"device_unit": "gcd"}),
        ("{device_unit}/*", "tpu/x.log", None),
        ("{parameters}b", "1.3b/x.log", {"parameters": "1.3"}),
        ("(a|b)/{x}", "(a|b)/c", {"x": "c"}),
        ("(a|b)/{x}", "a/c", None),
        ("**", "x.log", {}),
    ],
)  # fmt: skip
def test_templates(template: str, path: str, found: dict[str, str] | None) -> None:
    assert compiled(template).match(path) == found


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{system", "the template '{system' has a single '{'; write a named part as {name}"),
        ("a}", "the template 'a}' has a single '}'; write a named part as {name}"),
        ("{System}", "'System' in the template '{System}' is not a name; use lower-case letters, digits and _"),
        ("{}", "'' in the template '{}' is not a name; use lower-case letters, digits and _"),
        ("{nodes:float}", "'float' in the template '{nodes:float}' is not a type; write {nodes} or {nodes:int}"),
        ("{a}/{a}", "the template '{a}/{a}' names 'a' twice; give the second another name"),
        ("{a}{b}", "the template '{a}{b}' does not say where '{a}' ends; put text after it"),
        ("a**/b", "the template 'a**/b' has ** next to other text; write it alone between slashes"),
        ("/a/b", "the template '/a/b' is not a path below the sidecar's folder; write it without / . .. first"),
        ("../a", "the template '../a' is not a path below the sidecar's folder; write it without / . .. first"),
        ("", "the template '' is not a path below the sidecar's folder; write it without / . .. first"),
        ("a" * 501, "a template has 501 letters; write it in less than 500"),
    ],
)
def test_bad_templates(template: str, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        compiled(template)


NAMES = st.text(st.characters(blacklist_characters="/", blacklist_categories=("Cs", "Cc")), min_size=1, max_size=20)


@given(NAMES, NAMES, st.integers(1, 10**9 - 1), st.integers(0, 3), st.lists(NAMES, max_size=3))
def test_what_is_written_into_a_path_is_read_from_it(
    system: str, attention: str, nodes: int, zeros: int, rest: list[str]
) -> None:
    path = "/".join([system, f"n{'0' * zeros}{nodes}-{attention}", *rest])
    expected = {"system": system, "nodes": str(nodes), "attention": attention}
    assert compiled("{system}/n{nodes}-{attention}").match(path) == expected


# One file

MISTAKES = [
    ('tz = "Europe/Berlin"\ntemplate = "{system}"\n', 2, "'template' is not a key of a sidecar; write 'templates'"),
    ("[facts]\n[systems.lumi]\nnodes = 4\n", 2,
     "'systems' is not a key of a sidecar; use one of templates, runs, tz, facts, labels, numbers, figure"),
    ("# tz = 3\n\ntz = 3\n", 3, "unknown time zone 3; use a name such as Europe/Berlin or UTC"),
    ('tz = "Mars"\n', 1, "unknown time zone 'Mars'; use a name such as Europe/Berlin or UTC"),
    ('templates = "{system}"\n', 1, 'templates is not a list of texts; write templates = ["..."]'),
    ("runs = [1]\n", 1, 'runs is not a list of texts; write runs = ["..."]'),
    ('# templates = ["{a}{b}"]\ntemplates = [\n  "{a}",\n  "{a}{b}",\n]\n', 4,
     "the template '{a}{b}' does not say where '{a}' ends; put text after it"),
    ("facts = 3\n", 1, "facts is not a table; write [facts], and key = value below it"),
    ("[labels]\nnode = 2\n[facts]\nnode = 2\n", 4, "'node' is not a fact; write 'nodes', or put it under [labels]"),
    ("[facts]\noutcome = 'oom'\n", 2,
     f"'outcome' is not a fact; use one of {', '.join(FACT_KINDS)}, or put it under [labels]"),
    ("[facts]\n\nnodes = 'eight'\n", 3, "nodes is not a whole number above 0: 'eight'"),
    ("[facts]\nnodes = 0\n", 2, "nodes is not a whole number above 0: 0"),
    ("[facts]\nnodes = true\n", 2, "nodes is not a whole number above 0: True"),
    ("[facts]\nnodes = 4.0\n", 2, "nodes is not a whole number above 0: 4.0"),
    ("[facts]\nparameters = nan\n", 2, "parameters is not a number above 0: nan"),
    (f"[facts]\nnodes = 0x{'f' * 5000}\n", 2, "nodes is not a whole number above 0: a number of that size"),
    ("[facts]\nsystem = 4\n", 2, 'system is not a text: 4; write system = "..."'),
    ("[facts]\ndevice_unit = 'tpu'\n", 2, "device_unit is 'tpu'; use one of gpu gcd ipu hpu cpu"),
    ("[labels]\nnodes = 2\n", 2, "'nodes' is a fact, not a label; put it under [facts]"),
    ("[labels]\n'my label' = 2\n", 2, "'my label' is not a name for a label; use lower-case letters, digits and _"),
    ("[labels]\na.b = 2\n", 2, "the label a is not a text or a number: {'b': 2}"),
    ("[labels]\nx = 1\ny 2\n", 3, "not TOML: Expected '=' after a key in a key/value pair"),
    ("tz = 'UTC'\n[labels", 2, "not TOML: Expected ']' at the end of a table declaration"),
    ("#" * (1 << 20) + "##", 1, "not TOML: it is larger than 1 MB"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "said"), MISTAKES)
def test_mistakes_are_named_with_their_line(text: str, line: int, said: str) -> None:
    _, (fault,) = sidecar_of(f"/logs/{SIDECAR_NAME}", text)
    assert (fault.line, fault.reason) == (line, said)
    assert str(fault) == f"/logs/{SIDECAR_NAME}, line {line}: {said}"
    assert fault.text == text.split("\n")[line - 1].strip()


def test_what_is_right_counts_beside_what_is_not() -> None:
    sidecar, faults = sidecar_of("/s", 'templates = ["{a}", "{b"]\n[facts]\nnodes = 0\nsystem = "lumi"\n')
    assert len(faults) == 2
    assert {key: one.value for key, one in sidecar.statements_on("/x/y.log").items()} == {"a": "x", "system": "lumi"}


@given(st.text() | st.text("abtz='\"[]{}.\n#=0x1 ").map(lambda text: 'templates = ["{a}"]\n' + text))
def test_no_text_raises(text: str) -> None:
    sidecar, faults = sidecar_of("/s", text)
    assert all(1 <= fault.line <= text.count("\n") + 1 for fault in faults)
    assert sidecar.statement_count >= 0


VALUES = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1).filter(str.strip)
LABELS = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True).filter(lambda name: name not in FACT_KINDS)


@given(st.dictionaries(LABELS, VALUES), st.lists(NAMES.filter(lambda n: not {*n} & {*"{}*"} and n not in (".", ".."))))
def test_what_is_written_is_read(labels: dict[str, str], templates: list[str]) -> None:
    text = new_sidecar_text(templates, [], {**labels, "system": "lumi", "nodes": "8"}, "Europe/Berlin")
    assert text is not None
    sidecar, faults = sidecar_of("/s", text)
    assert faults == []
    assert {key: one.value for key, one in sidecar.always.items()} == {**labels, "system": "lumi", "nodes": "8"}
    assert [template.text for template in sidecar.templates] == templates
    assert sidecar.zone == "Europe/Berlin"


def test_lines_of_what_is_said() -> None:
    sidecar, _ = sidecar_of("/s", '# {a}\ntemplates = [\n  "{a}",\n]\n\n[labels]\nb = 1\n[facts]\nsystem = "b"\n')
    assert {key: one.line for key, one in sidecar.statements_on("/x/y").items()} == {"a": 3, "b": 7, "system": 9}


def test_the_page_shows_a_sidecar_that_holds() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "sidecars.md").read_text(), re.DOTALL)
    sidecar, faults = sidecar_of("/logs/" + SIDECAR_NAME, example)
    assert faults == []
    said = {key: one.value for key, one in sidecar.statements_on("/logs/lumi/BF16/n08/rep3/train.log").items()}
    assert said == {
        "system": "lumi", "precision": "bf16", "nodes": "8", "repeat": "3",
        "devices_per_node": "8", "model": "gpt-7b", "cooling": "water",
    }  # fmt: skip
    run = NamedRun("/logs/" + SIDECAR_NAME, (("job", "77"),))
    assert sidecar.run_of("/logs/logs/train-77.out") == sidecar.run_of("/logs/power/77/a.csv") == run
    assert sidecar.statements_on("/logs/old/bert-4nodes.log")["nodes"].value == "4"


def test_facts_are_no_labels() -> None:
    assert {name for name in FACT_KINDS if f"'{name}'" not in queries.load()["labels"].sql} == set()


# Several files


def said(texts: dict[str, str], path: str) -> dict[str, str]:
    sidecars = Sidecars({f"{folder}/{SIDECAR_NAME}": text for folder, text in texts.items()})
    assert sidecars.faults == []
    return {key: one.value for key, one in sidecars.statements_on(path).items()}


def test_the_nearest_sidecar_has_the_last_word_key_by_key() -> None:
    texts = {
        "": '[labels]\na = "top"\nb = "top"\nc = "top"\n',
        "/s": 'templates = ["{b}"]\n[labels]\nb = "constant"\na = "study"\n',
        "/s/x": '[labels]\na = "near"\n',
        "/s/xx": '[labels]\na = "not here"\n',
    }
    assert said(texts, "/s/x/y.log") == {"a": "near", "b": "x", "c": "top"}
    assert said(texts, "/s/z/y.log") == {"a": "study", "b": "z", "c": "top"}
    assert said(texts, "/y.log") == {"a": "top", "b": "top", "c": "top"}


def test_the_first_template_that_fits_counts() -> None:
    texts = {"/s": 'templates = ["{system}/n{nodes}", "{model}/*"]\n'}
    assert said(texts, "/s/lumi/n8/a.log") == {"system": "lumi", "nodes": "8"}
    assert said(texts, "/s/gpt/a.log") == {"model": "gpt"}
    assert said(texts, "/s/a.log") == {}


def test_an_archive_is_a_folder() -> None:
    texts = {"/s": 'templates = ["{study}.tar.gz/n{nodes}"]\n'}
    assert said(texts, "/s/old.tar.gz!n4/a.log") == {"study": "old", "nodes": "4"}


# From logs to SQL

STUDY = """templates = ["{system}/{precision}/n{nodes}"]
[facts]
devices_per_node = 4
[labels]
cooling = "water"
repeat = 1
"""
SETTINGS = "SELECT system, precision, nodes, devices, label_cooling, label_repeat FROM runs ORDER BY ALL"
SAID = [
    (system, "bf16", nodes, 4 * nodes, "water", 1) for system in ("alps", "lumi") for nodes in (1, 2)
]  # fmt: skip


def test_facts_and_labels_are_columns_of_runs_and_traced_to_their_line(logs: Path, home: Path) -> None:
    write_sidecar(logs, STUDY)
    ingest([logs], home)
    assert ask(home, SETTINGS) == SAID
    rows = ask(home, "SELECT DISTINCT path, line, key, value, origin FROM params JOIN files USING (file_id) "
               f"WHERE path LIKE '%/{SIDECAR_NAME}' AND value IN ('lumi', '2', 'water', '4') ORDER BY key, value")  # fmt: skip
    assert rows == [
        (str(logs / SIDECAR_NAME), 5, "cooling", "water", "sidecar"),
        (str(logs / SIDECAR_NAME), 1, "devices", "4", "inferred"),
        (str(logs / SIDECAR_NAME), 3, "devices_per_node", "4", "sidecar"),
        (str(logs / SIDECAR_NAME), 1, "nodes", "2", "sidecar"),
        (str(logs / SIDECAR_NAME), 1, "system", "lumi", "sidecar"),
    ]
    assert ask(home, "SELECT count(*) FROM params WHERE run_id IS NULL") == [(0,)]
    assert ask(home, "SELECT DISTINCT labels FROM labels()") == [("cooling water",)]
    assert ask(home, "SELECT formats, status, rows, problems FROM files WHERE path LIKE '%.toml'") == [
        (["sidecar"], "ok", 4, 0)
    ]


def test_labels_select_runs_and_tell_series_apart(logs: Path, home: Path) -> None:
    write_sidecar(logs, STUDY)
    write_sidecar(logs / "alps", '[labels]\ncooling = "air"\n')
    ingest([logs], home)
    condition = "runs := 'label_cooling = ''air'''"
    assert ask(home, f"SELECT DISTINCT system FROM runs_overview({condition})") == [("alps",)]
    assert ask(home, f"SELECT series, devices FROM scaling({condition}, exclude := 'none')") == [
        ("alps · bf16 · megatron-lm · cooling air · strong (global batch 4)", 4),
        ("alps · bf16 · megatron-lm · cooling air · strong (global batch 4)", 8),
    ]
    by_repeat = f"SELECT DISTINCT series FROM scaling({condition}, exclude := 'none', series_by := 'label_repeat')"
    assert ask(home, by_repeat) == [
        ("alps · bf16 · megatron-lm · cooling air · label_repeat 1 · strong (global batch 4)",)
    ]


def test_a_label_is_a_number_where_all_its_values_are(logs: Path, home: Path) -> None:
    write_sidecar(logs, "[labels]\nwave = 2\nsize = 9\n")
    write_sidecar(logs / "alps", '[labels]\nwave = "second"\nsize = 10\n')
    ingest([logs], home)
    assert ask(home, "SELECT DISTINCT typeof(label_wave), typeof(label_size) FROM runs") == [("VARCHAR", "BIGINT")]
    assert ask(home, "SELECT DISTINCT label_wave FROM runs WHERE label_size > 9") == [("second",)]


@pytest.mark.slow
def test_a_label_may_have_the_name_of_any_column(logs: Path, home: Path) -> None:
    names = {column.name for query in queries.load().values() for column in query.columns} - FACT_KINDS.keys()
    write_sidecar(logs, "[labels]\n" + "".join(f'{name} = "x"\n' for name in sorted(names)))
    ingest([logs], home)
    assert len(ask(home, "FROM runs_overview()")) == 4
    connection = connect(home)
    for query in queries.load().keys() - ASK_FOR_RUNS:  # which takes two runs
        connection.execute(f"FROM {query}()").fetchall()


def test_a_sidecar_may_come_later_change_and_go_and_no_log_is_read_again(logs: Path, home: Path) -> None:
    ingest([logs], home)
    assert ask(home, "SELECT DISTINCT system, nodes FROM runs ORDER BY ALL") == [(None, 1), (None, 2)]
    path = write_sidecar(logs, STUDY)
    assert [entry.path for entry in ingest([logs], home).entries] == [str(path)]
    assert ask(home, SETTINGS) == SAID
    assert ingest([logs], home).entries == []

    write_sidecar(logs, STUDY.replace("water", "air"), later=1)
    assert [entry.path for entry in ingest([logs], home).entries] == [str(path)]
    assert ask(home, "SELECT DISTINCT label_cooling FROM runs") == [("air",)]

    path.unlink()
    assert ingest([logs], home).entries == []
    assert ask(home, "SELECT DISTINCT system, nodes FROM runs ORDER BY ALL") == [(None, 1), (None, 2)]
    assert ask(home, "SELECT count(*) FROM params WHERE origin = 'sidecar'") == [(0,)]
    assert ask(home, f"SELECT count(*) FROM files WHERE path LIKE '%{SIDECAR_NAME}'") == [(0,)]


def test_sidecars_above_what_is_ingested_count(logs: Path, home: Path) -> None:
    path = write_sidecar(logs, STUDY)
    report = ingest([logs / "alps" / "BF16" / "n02" / "train.log"], home)
    assert sorted(entry.path for entry in report.entries) == sorted(
        [str(path), str(logs / "alps" / "BF16" / "n02" / "train.log")]
    )
    assert ask(home, SETTINGS) == [SAID[1]]
    path.unlink()
    ingest([logs / "alps"], home)
    assert ask(home, "SELECT DISTINCT system FROM runs") == [(None,)]


def test_what_a_sidecar_said_is_kept_where_its_folder_is_gone_until_it_is_forgotten(logs: Path, home: Path) -> None:
    write_sidecar(logs / "alps", '[labels]\ncooling = "air"\n')
    ingest([logs], home)
    shutil.rmtree(logs / "alps")
    ingest([logs], home)
    air = "SELECT count(*) FROM params WHERE key = 'cooling'"
    assert ask(home, air) == [(2,)]
    Warehouse(home).forget([str(logs / "alps" / SIDECAR_NAME)])
    assert ask(home, air) == [(0,)]


def test_a_sidecar_elsewhere_is_left_alone(logs: Path, home: Path) -> None:
    path = write_sidecar(logs / "alps", '[labels]\ncooling = "air"\n')
    ingest([logs], home)
    path.unlink()
    ingest([logs / "lumi"], home)
    assert ask(home, "SELECT count(*) FROM params WHERE key = 'cooling'") == [(2,)]


def test_sidecars_of_the_same_content_each_count(logs: Path, home: Path) -> None:
    for system in ("alps", "lumi"):
        write_sidecar(logs / system, 'templates = ["{precision}/n{nodes}"]\n')
    (logs / "a copy.txt").write_text('templates = ["{precision}/n{nodes}"]\n')
    ingest([logs], home)
    assert ask(home, "SELECT precision, nodes FROM runs ORDER BY ALL") == [
        ("bf16", 1),
        ("bf16", 1),
        ("bf16", 2),
        ("bf16", 2),
    ]


def test_folding_keeps_sidecars(logs: Path, home: Path) -> None:
    ingest([logs], home)
    write_sidecar(logs, STUDY)
    ingest([logs], home)
    Warehouse(home).fold(above=1)
    assert ask(home, SETTINGS) == SAID


def test_a_sidecar_that_is_wrong_stops_nothing_and_is_said_each_time(logs: Path, home: Path) -> None:
    path = write_sidecar(logs, STUDY + "trial = []\n")
    line = f"{path}, line 7: the label trial is not a text or a number: []"
    first, second = ingest([logs], home), ingest([logs], home)
    assert (first.faults, second.faults, second.entries) == ([line], [line], [])
    assert ask(home, SETTINGS) == SAID
    assert ask(home, "SELECT run_id, line, format, reason, text FROM problems") == [
        (None, 7, "sidecar", "the label trial is not a text or a number: []", "trial = []")
    ]
    assert ask(home, f"SELECT status, problems FROM files WHERE path = '{path}'") == [("partial", 1)]
    write_sidecar(logs, STUDY, later=1)
    assert ingest([logs], home).faults == []
    assert ask(home, "FROM problems") == []


def test_a_dry_run_leaves_what_sidecars_say(logs: Path, home: Path) -> None:
    path = write_sidecar(logs, STUDY)
    ingest([logs], home)
    path.unlink()
    ingest([logs], home, dry_run=True)
    assert ask(home, SETTINGS) == SAID


# Zones

STAMPS = (
    "SELECT regexp_extract(path, 'logs/(\\w+)', 1), CAST(ts AS VARCHAR), ts_origin "
    "FROM phases JOIN files USING (file_id) WHERE path LIKE '%n01%' ORDER BY path"
)  # fmt: skip
NAIVE, BERLIN, HELSINKI = (
    ("2026-06-10 09:31:19", "naive"), ("2026-06-10 07:31:19", "utc"), ("2026-06-10 06:31:19", "utc"),
)  # fmt: skip


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_zone_is_said_by_folder_and_goes_before_that_of_the_command_line(
    logs: Path, home: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "BATCH_FILES", 2)
    path = write_sidecar(logs / "lumi", 'tz = "Europe/Helsinki"\n')
    ingest([logs], home, jobs)
    assert ask(home, STAMPS) == [("alps", *NAIVE), ("lumi", *HELSINKI)]
    report = ingest([logs], home, jobs, time_zone="Europe/Berlin")
    assert ask(home, STAMPS) == [("alps", *BERLIN), ("lumi", *HELSINKI)]
    assert {Path(entry.path).relative_to(logs).parts[0] for entry in report.entries} == {"alps"}
    path.unlink()
    ingest([logs], home, jobs, time_zone="Europe/Berlin")
    assert ask(home, STAMPS) == [("alps", *BERLIN), ("lumi", *BERLIN)]
    write_sidecar(logs, 'tz = "Europe/Helsinki"\n')
    ingest([logs], home, jobs)
    assert ask(home, STAMPS) == [("alps", *HELSINKI), ("lumi", *HELSINKI)]
    assert ingest([logs], home, jobs).entries == []


def test_the_zone_holds_for_the_members_of_an_archive(tmp_path: Path, home: Path) -> None:
    log = write_log(tmp_path / "n4" / "train.log")
    (tmp_path / "logs").mkdir()
    with tarfile.open(tmp_path / "logs" / "old.tar.gz", "w:gz") as archive:
        archive.add(log, "n4/train.log")
    write_sidecar(tmp_path / "logs", 'tz = "Europe/Berlin"\ntemplates = ["{study}.tar.gz/n{nodes}"]\n')
    ingest([tmp_path / "logs"], home)
    assert ask(home, "SELECT CAST(ts AS VARCHAR), ts_origin FROM phases") == [BERLIN]
    assert ask(home, "SELECT nodes, label_study FROM runs") == [(4, "old")]
    assert ingest([tmp_path / "logs"], home).entries == []


# Which files are one run

RUNS = "SELECT list(parse_filename(path) ORDER BY path), any_value(why) FROM members JOIN files USING (file_id) GROUP BY run_id ORDER BY ALL"


def test_files_of_which_the_named_parts_are_equal_are_one_run(tmp_path: Path, home: Path) -> None:
    logs = tmp_path / "logs"
    for job in (7, 8):
        write_log(logs / "out" / f"train-{job}.out")
        (logs / "power" / f"{job:02}").mkdir(parents=True)
        (logs / "power" / f"{job:02}" / f"gpu{job}.csv").write_text(POWER.format(190.7 + job))
    ingest([logs], home)
    assert len(ask(home, RUNS)) == 4
    write_sidecar(logs, 'runs = ["out/train-{job:int}.out", "power/{job:int}/*"]\n')
    ingest([logs], home)
    assert ask(home, RUNS) == [(["train-7.out", "gpu7.csv"], "sidecar"), (["train-8.out", "gpu8.csv"], "sidecar")]
    assert ask(home, "SELECT count(*) FROM power JOIN runs USING (run_id)") == [(2,)]


def test_two_logs_of_the_same_steps_are_two_runs_whatever_a_sidecar_says(logs: Path, home: Path) -> None:
    write_sidecar(logs, 'runs = ["**"]\n')
    ingest([logs], home)
    assert ask(home, RUNS) == [(["train.log"], "file")] * 4


def test_a_nearer_sidecar_names_the_run(logs: Path, home: Path) -> None:
    (logs / "alps" / "power.csv").write_text(POWER.format(100))
    write_sidecar(logs, 'runs = ["{machine}"]\n')
    write_sidecar(logs / "alps", 'runs = ["power.csv", "*/n02"]\n')
    ingest([logs], home)
    assert (["train.log", "power.csv"], "sidecar") in ask(home, RUNS)
    assert ask(home, "SELECT path FROM files JOIN members USING (file_id) JOIN power USING (run_id) ORDER BY path") == [
        (str(logs / "alps" / "BF16" / "n02" / "train.log"),), (str(logs / "alps" / "power.csv"),),
    ]  # fmt: skip


def test_what_is_named_like_a_log_of_several_runs_belongs_to_its_last() -> None:
    step = PartFacts(rows={"steps": 5}, steps={"0": (1, 5)}, attempts=1)
    power = PartFacts(rows={"power": 9})
    entries = {
        "/r/train-7.out": Entry("/r/train-7.out", "/r", "log", "b", parts={0: step, 1: step}),
        "/r/power/7.csv": Entry("/r/power/7.csv", "/r", "csv", "b", parts={0: power}),
        "/r/" + SIDECAR_NAME: Entry(
            "/r/" + SIDECAR_NAME, "/r", "toml", sidecar='runs = ["train-{n}.out", "power/{n}.csv"]'
        ),
    }
    first, last = runs_of(Live(entries, {entry.file_id: entry for entry in entries.values() if entry.batch}, {}, []))
    assert [[(part.file_id, part.part) for part in run.parts] for run in (first, last)] == [
        [("log", 0)], [("log", 1), ("csv", 0)],
    ]  # fmt: skip


def test_a_job_id_that_a_sidecar_names_joins_as_any_other(tmp_path: Path, home: Path) -> None:
    write_log(tmp_path / "logs" / "j7" / "train.out")
    (tmp_path / "logs" / "j7" / "deep").mkdir()
    (tmp_path / "logs" / "j7" / "deep" / "power.csv").write_text(POWER.format(100))
    write_sidecar(tmp_path / "logs", 'templates = ["j{job_id}"]\n')
    ingest([tmp_path / "logs"], home)
    assert ask(home, RUNS) == [(["power.csv", "train.out"], "job id")]
    assert ask(home, "SELECT job_id FROM runs") == [("7",)]


def test_of_the_files_of_a_run_the_one_with_the_steps_goes_first(tmp_path: Path, home: Path) -> None:
    write_log(tmp_path / "logs" / "z" / "train-7.out")
    (tmp_path / "logs" / "a").mkdir()
    (tmp_path / "logs" / "a" / "power-7.csv").write_text(POWER.format(100))
    write_sidecar(tmp_path / "logs", 'templates = ["{kind}"]\nruns = ["*/*-{job}.*"]\n[labels]\nboth = 1\n')
    ingest([tmp_path / "logs"], home)
    assert ask(home, "SELECT label_kind, label_both FROM runs") == [("z", 1)]


# Contradictions

DISPUTED = "SELECT key, value, origin, chosen FROM contradictions() ORDER BY ALL"


def test_a_sidecar_and_a_log_that_disagree_are_a_contradiction(tmp_path: Path, home: Path) -> None:
    log = write_log(tmp_path / "logs" / "n2" / "train.log")
    settings = (
        "using world size: 16, data-parallel-size: 16, tensor-model-parallel size: 1, pipeline-model-parallel size: 1\n"
    )
    log.write_text(settings + log.read_text())
    write_sidecar(tmp_path / "logs", "[facts]\ndevices = 8\n")
    ingest([tmp_path / "logs"], home)
    assert ask(home, DISPUTED) == [("devices", "16", "log", False), ("devices", "8", "sidecar", True)]


def test_a_file_named_n2048_that_describes_n128_is_a_contradiction(tmp_path: Path, home: Path) -> None:
    facts = {
        "system_name": "mare_gpu_n128", "number_of_nodes": "32", "accelerators_per_node": "4",
        "host_processors_per_node": "2", "accelerator_model_name": "A100", "framework": "PyTorch",
    }  # fmt: skip
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "mare_gpu_n2048.json").write_text(json.dumps(facts, indent=1))
    write_log(tmp_path / "results" / "mare_gpu_n2048" / "deepcam" / "result_0.txt")
    ingest([tmp_path / "systems", tmp_path / "results"], home)
    assert ask(home, f"FROM ({DISPUTED}) WHERE key = 'system'") == [
        ("system", "mare_gpu_n128", "environment", True), ("system", "mare_gpu_n2048", "path", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "said", "other", "disagree"),
    [
        ("system", "PRIMERGY", "primergy-pytorch", False),
        ("system", "POD64", "IPU-POD64", False),
        ("system", "X86", "8-nodes-SPR", True),
        ("device_model", "NVIDIA B200", "B200-SXM-180GB", False),
        ("device_model", "NVIDIA H100 80GB HBM3", "NVIDIA H100-SXM-80GB", False),
        ("device_model", "NVIDIA A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB", True),
        ("device_model", "NVIDIA A100-SXM4-40GB", "NVIDIA H100-SXM-80GB", True),
    ],
)
def test_a_short_and_a_long_name_do_not_disagree(
    tmp_path: Path, home: Path, key: str, said: str, other: str, disagree: bool
) -> None:
    facts = {"system_name": "box", "number_of_nodes": "2", "accelerators_per_node": "4",
             "host_processors_per_node": "2", "accelerator_model_name": "A100", "framework": "PyTorch"}  # fmt: skip
    facts["system_name" if key == "system" else "accelerator_model_name"] = other
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / f"{facts['system_name']}.json").write_text(json.dumps(facts, indent=1))
    write_log(tmp_path / "results" / facts["system_name"] / "deepcam" / "result_0.txt")
    write_sidecar(tmp_path, f'[facts]\n{key} = "{said}"\n')
    ingest([tmp_path], home)
    assert ask(home, f"SELECT count(DISTINCT value) FROM params WHERE key = '{key}'") == [(2,)]
    assert bool(ask(home, f"FROM ({DISPUTED}) WHERE key = '{key}'")) == disagree


def test_a_cancelled_job_that_reports_an_error_is_no_contradiction(tmp_path: Path, home: Path) -> None:
    error = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    killed = "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2024-03-01T12:00:00 DUE TO TIME LIMIT ***\n"
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "train.log").write_text("".join(map(megatron_line, range(1, 6))) + error + killed)
    ingest([tmp_path / "logs"], home)
    assert ask(home, "SELECT count(DISTINCT value) > 1 FROM params WHERE key = 'outcome'") == [(True,)]
    assert ask(home, DISPUTED) == []


def test_the_world_size_of_deepspeed_in_another_file_is_that_of_a_group(tmp_path: Path, home: Path) -> None:
    settings = (
        "using world size: {}, data-parallel-size: 16, tensor-model-parallel size: 8, pipeline-model-parallel size: 8\n"
    )
    said = "[2026-01-02 06:38:26,359] [INFO] [config.py:752:print]   world_size ................... {}\n"
    for devices, world, disputed in ((1024, 16, 0), (1024, 512, 2)):
        logs = tmp_path / f"logs-{world}"
        logs.mkdir()
        (logs / "job-77.out").write_text(settings.format(devices) + "".join(map(megatron_line, range(1, 6))))
        (logs / "job-77.err").write_text(said.format(world))
        ingest([logs], home / str(world))
        assert ask(home / str(world), "SELECT count(DISTINCT value) FROM params WHERE key = 'devices'") == [(2,)]
        assert len(ask(home / str(world), f"FROM ({DISPUTED}) WHERE key = 'devices'")) == disputed


def test_the_shape_of_a_model_that_a_sidecar_gives_goes_first(tmp_path: Path, home: Path) -> None:
    write_log(tmp_path / "logs" / "train.log")
    write_sidecar(tmp_path / "logs", "[facts]\nnum_layers = 2\nhidden_size = 4\nseq_length = 8\nparameters = 100\n")
    ingest([tmp_path / "logs"], home)
    assert ask(home, "SELECT layers, hidden_size, flops_per_token FROM model_flops()") == [(2, 4, 600 + 12 * 64)]


# scalelens label


TEMPLATE = "{system}/{precision}/n{nodes}"
PREVIEW = """file,template,system,precision,nodes
alps/BF16/n01/train.log,{system}/{precision}/n{nodes},alps,bf16,1
alps/BF16/n02/train.log,{system}/{precision}/n{nodes},alps,bf16,2
lumi/BF16/n01/train.log,{system}/{precision}/n{nodes},lumi,bf16,1
lumi/BF16/n02/train.log,{system}/{precision}/n{nodes},lumi,bf16,2
"""


def test_a_dry_run_shows_and_writes_nothing(run: Run, logs: Path) -> None:
    assert run("label", "--template", TEMPLATE, logs, "--dry-run") == (0, PREVIEW, "nothing was written (--dry-run)\n")
    assert not (logs / SIDECAR_NAME).exists()


def test_label_writes_what_it_shows_and_ingest_takes_it_up(run: Run, logs: Path, home: Path) -> None:
    (logs / "notes.txt").write_text("call the vendor\n")
    ran = run("label", "--template", TEMPLATE, "--label", "cooling=water", "--label", "devices_per_node=4",
              "--label", "repeat=1", "--tz", "Europe/Berlin", "--run", "{a}/{b}/{c}", logs)  # fmt: skip
    head, notes, first, *_ = ran.out.splitlines()
    assert head == "file,template,run,tz,devices_per_node,cooling,repeat,system,precision,nodes"
    assert notes == "notes.txt,,,Europe/Berlin,4,water,1,,,"
    assert first == "alps/BF16/n01/train.log," + TEMPLATE + ",alps BF16 n01,Europe/Berlin,4,water,1,alps,bf16,1"
    assert ran.code == 0
    assert ran.err == (
        f"no template fits  1   notes.txt\nwrote {logs / SIDECAR_NAME}      next: scalelens ingest {logs}\n"
    )  # fmt: skip
    ingest([logs], home)
    assert ask(home, SETTINGS) == SAID
    assert run("label", logs).out == ran.out


def test_label_again_with_the_same_words_changes_nothing(run: Run, logs: Path) -> None:
    run("label", "--template", TEMPLATE, logs)
    before = (logs / SIDECAR_NAME).read_text()
    assert run("label", "--template", TEMPLATE, logs).code == 0
    assert (logs / SIDECAR_NAME).read_text() == before


def test_label_shows_the_difference_and_replaces_only_when_told(run: Run, logs: Path) -> None:
    run("label", "--template", TEMPLATE, logs)
    before = (logs / SIDECAR_NAME).read_text()
    new = ("label", "--template", "{system}/**", logs)
    difference = f'-    "{TEMPLATE}",\n+    "{{system}}/**",\n'
    ran = run(*new)
    assert (ran.code, ran.out) == (2, "")
    assert difference in ran.err
    assert ran.err.endswith(
        f"scalelens: {logs / SIDECAR_NAME} already exists with different content; edit it, or replace it with --force\n"
    )
    assert (logs / SIDECAR_NAME).read_text() == before
    assert run(*new, "--dry-run").code == 0
    assert (logs / SIDECAR_NAME).read_text() == before
    ran = run(*new, "--force")
    assert ran.code == 0
    assert '"{system}/**"' in (logs / SIDECAR_NAME).read_text()


def test_force_replaces_a_sidecar_that_is_wrong(run: Run, logs: Path) -> None:
    write_sidecar(logs, "templates = [")
    assert run("label", "--template", TEMPLATE, logs).code == 2
    assert run("label", "--template", TEMPLATE, logs, "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--template", "{a"), "the template '{a' has a single '{'; write a named part as {name}"),
        (("--run", "{a:x}"), "'x' in the template '{a:x}' is not a type; write {a} or {a:int}"),
        (
            ("--template", "x/{system}"),
            "no template matches any file, such as alps/BF16/n01/train.log; templates begin in LOGS",
        ),
        (("--label", "nodes=eight"), "nodes is not a whole number above 0: 'eight'"),
        (("--label", "Cooling=1"), "'Cooling' is not a name for a label; use lower-case letters, digits and _"),
        (("--label", "cooling"), "'cooling' is not of the form KEY=VALUE; write for example cooling=water"),
        (("--label", "a=\udcff"), r"'\udcff' is not UTF-8; write it in UTF-8"),
        (("--tz", "Mars"), "unknown time zone 'Mars'; use a name such as Europe/Berlin or UTC"),
    ],
)
def test_wrong_use_is_one_line_and_writes_nothing(run: Run, logs: Path, arguments: tuple[str, ...], said: str) -> None:
    assert run("label", *arguments, logs) == (2, "", f"scalelens: {said.replace('LOGS', str(logs))}\n")
    assert not (logs / SIDECAR_NAME).exists()


def test_a_folder_that_is_not_there(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "none"
    said = f"scalelens: there is no folder {folder}; give the folder in which the paths of the template begin\n"
    assert run("label", folder) == (2, "", said)


def test_label_names_the_line_of_a_sidecar_that_is_wrong(run: Run, logs: Path) -> None:
    path = write_sidecar(logs / "alps", "tz = 3\n[labels]\ncooling = []\n")
    assert run("label", logs) == (2, "", (
        f"{path}, line 3: the label cooling is not a text or a number: []\n"
        f"scalelens: {path}, line 1: unknown time zone 3; use a name such as Europe/Berlin or UTC\n"
    ))  # fmt: skip


def test_identify_says_what_is_wrong_with_a_sidecar(run: Run, logs: Path) -> None:
    path = write_sidecar(logs, "tz = 'UTC'\n[facts]\nnodes = 0\n")
    assert run("identify", path) == (0, (
        "format,table,rows,first_line,last_line,example\n"
        "sidecar,problems,1,3,3,nodes is not a whole number above 0: 0\n"
    ), f"{SIDECAR_NAME}: a sidecar; to see what it says about each file: scalelens label {logs}\n")  # fmt: skip


def test_ingest_warns_of_a_sidecar_that_is_wrong_and_goes_on(run: Run, logs: Path, home: Path) -> None:
    path = write_sidecar(logs, "[facts]\nnodez = 3\n")
    line = f"{path}, line 2: 'nodez' is not a fact; write 'nodes', or put it under [labels]\n"
    for _ in range(2):
        ran = run("ingest", logs, "-w", home)
        assert (ran.code, line in ran.err, "4 runs" in ran.err) == (0, True, True)
    assert run("ingest", logs, "-w", home.parent / "other", "--strict").code == 1
