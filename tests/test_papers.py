"""For papers: LaTeX tables, numbers as macros, envelopes, bundles."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import scalelens
from asking import answer
from command_line import one_line
from scalelens.errors import UserError
from scalelens.ingestion.ingest import ingest
from scalelens.report.text.latex import escaped, unit
from scalelens.report.text.latex_tables import glance_table
from scalelens.report.text.latex_widths import number_width, text_width
from scalelens.report.text.markdown import markdown
from scalelens.report.text.table_columns import TableColumn

if TYPE_CHECKING:
    from command_line import Ran, Run

LOGS = Path(str(files("scalelens") / "demo" / "logs"))
EVIL = r"a|b<c> [x] *y* ~ \input{/etc/passwd} ^ {$%&#_} --tp `q` é 中 <script>alert(1)</script> ![x](javascript:a)"


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers") / "w"
    ingest([LOGS], folder, jobs=1)
    return folder


def body(text: str) -> list[str]:
    """Lines that LaTeX prints."""
    return [line for line in text.splitlines() if not line.startswith("%")]


# Tables


def column(name: str, header: str, *texts: str, right: bool = True) -> TableColumn:
    return TableColumn(name, header, [*texts], right)


def test_uncertainty_counts_in_units_of_the_last_digit() -> None:
    table = glance_table([
        column("run_id", "run", "a", "b_1", right=False), column("step_s", "step [s]", "346.7 ± 1.2", "-80.10 ± 0.05"),
    ])  # fmt: skip
    assert table.splitlines() == [
        r"\begin{tabular}{lS[table-format=-3.2(2)]}", r"\toprule", r"run & {step [\si{\second}]} \\", r"\midrule",
        r"a & 346.7(12) \\", r"b\_1 & -80.10(5) \\", r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip


def test_a_range_stands_in_a_column_of_its_own() -> None:
    table = glance_table(
        [column("x", "x", "1", "2"), column("step_s", "step [ms]", "34.7 (range 34.6 – 34.9)", "5.0 ± 0.1")]
    )
    assert r"{x} & {step [\si{\milli\second}]} & \SI{95}{\percent} interval \\" in table
    assert r"1 & 34.7 & \numrange{34.6}{34.9}$^\mathrm{r}$ \\" in table
    assert r"2 & 5.0 & \numrange{4.9}{5.1} \\" in table
    assert "r: the smallest and the largest value" in table
    alone = glance_table([column("x", "x", "1", "2"), column("step_s", "step [s]", "3 (range 2 – 4)", "")])
    assert r"& range \\" in alone and r"1 & 3 & \numrange{2}{4} \\" in alone and "2 &  &  \\\\" in alone


def test_an_interval_is_printed_in_one_way_in_a_column(run: "Run", warehouse: Path) -> None:
    """As soon as one interval needs both ends, all have them, and they are those of the answer."""
    rows = scalelens.query("batch_stats", warehouse=warehouse).to_dicts()
    text = run("query", "batch_stats", "-w", warehouse, "--format", "latex").out
    shown = re.findall(r"\\numrange\{([\d.]+)\}\{([\d.]+)\}", text)
    assert r"$\pm$" not in text and len(shown) >= len(rows)
    ends = {(row["step_s_low"], row["step_s_high"]) for row in rows}
    for low, high in shown[: len(rows)]:
        unit = 0.5 * 10 ** -len(low.partition(".")[2])
        assert any(abs(a - float(low)) <= unit and abs(b - float(high)) <= unit for a, b in ends)


def sizes(text: str) -> list[str]:
    """The size of type of each table: `normalsize`, or its points."""
    found = re.findall(r"\\(?:(normalsize)|fontsize\{(\d)\}\{[\d.]+\}\\selectfont)\\setlength", text)
    return [normal or points for normal, points in found]


def test_a_table_for_a_column_has_fewer_columns_first_and_then_smaller_type() -> None:
    columns = [column("run_id", "run", "bf16-weak-r2", "b", right=False)]
    columns += [column(f"c{k}", f"number {k} [s]", "346.7 ± 1.2", "80.1 ± 0.5") for k in range(9)]
    wide, less, small = (glance_table(columns, mm=mm) for mm in (300, 150, 115))
    assert sizes(wide) == ["normalsize"] and "No room" not in wide and wide.count("table-format") == 9
    assert sizes(less) == ["normalsize"] and 5 <= less.count("table-format") < 9 and "% No room for number" in less
    assert sizes(small)[0] in ("9", "8", "7") and small.count("table-format") == 5
    with pytest.raises(UserError, match="not even the first column"):
        glance_table([column("run_id", "run", "a" * 99, "b", right=False)], mm=40)


def test_the_statement_of_a_user_keeps_its_columns_or_is_refused(run: "Run", warehouse: Path) -> None:
    asked = "SELECT run_id, model, precision, global_batch_size FROM runs"
    ran = run("sql", asked, "-w", warehouse, "--format", "latex", "--width", "ieee-single")
    assert ran.code == 0 and ran.out.count("&") >= 3 and len(sizes(ran.out)) == 1
    wider = run("sql", "FROM runs", "-w", warehouse, "--format", "latex", "--width", "ieee-single")
    one_line(wider, "do not fit into 88.9 mm")
    one_line(run("sql", asked, "-w", warehouse, "--format", "latex", "--width", "narrow"), "'narrow' is not a length")
    one_line(run("query", "scaling", "-w", warehouse, "--width", "lncs"), "--width is for tables of LaTeX")


def test_a_table_for_a_column_is_verified_with_its_width(run: "Run", warehouse: Path, tmp_path: Path) -> None:
    path = tmp_path / "scaling.tex"
    path.write_text(run("query", "scaling", "-w", warehouse, "--format", "latex", "--width", "ieee-single").out)
    assert '"width":"ieee-single"' in path.read_text().replace("\n%+", "")
    assert run("verify", path, "-w", warehouse).code == 0
    assert r"p{250.9pt}" in path.read_text(), "a long heading breaks into lines"


def test_the_widths_of_letters_are_those_of_computer_modern() -> None:
    """Of cmr10: digits have 5 points, a comma 2.78, `effort` 4.44 + 3.06 + 3.06 + 5 + 3.92 + 3.89 without ligatures."""
    assert text_width("0123456789") == pytest.approx(50) and text_width(",") == pytest.approx(2.78, abs=0.01)
    assert 4.44 + 3.06 * 2 + 5 + 3.92 + 3.89 <= text_width("effort") < 25
    assert number_width("12345") > text_width("12345"), "siunitx sets a thin space within five digits"


def test_doubts_and_what_all_rows_share_stand_below() -> None:
    table = glance_table([
        column("devices", "devices", "8", "16"), column("nodes", "nodes", "1", "1"),
        column("warning", "warning", "", "one run & no more", right=False),
    ])  # fmt: skip
    assert table.splitlines()[-2:] == [
        r"\par\smallskip{\footnotesize All rows: nodes 1.\par}",
        r"\par\smallskip{\footnotesize devices 16: one run \& no more.\par}",
    ]
    assert "warning" not in table


def test_a_series_is_a_line_above_its_rows(run: "Run", warehouse: Path) -> None:
    lines = body(run("query", "scaling", "-w", warehouse, "--format", "latex").out)
    heads = [line for line in lines if line.startswith(r"\multicolumn")]
    assert len(heads) == 5 and "resnet50 · bf16" in heads[2]
    assert lines[0].startswith(r"\begin{tabular}{S[table-format=1]") and r"{efficiency [\si{\percent}]}" in lines[2]
    assert "run_id" not in "".join(lines) and r"\numrange{" in "".join(lines)


def test_runs_are_shown_by_name_in_the_order_of_names(run: "Run", warehouse: Path) -> None:
    lines = body(run("query", "batch_stats", "-w", warehouse, "--format", "latex").out)
    names = [line.partition(" &")[0] for line in lines[4 : lines.index(r"\bottomrule")]]
    assert names == sorted(path.name for path in LOGS.iterdir() if path.is_dir())
    everything = body(run("query", "batch_stats", "-w", warehouse, "--format", "latex", "--all").out)
    assert r"run\_id & n\_steps" in everything[2]


def test_units_that_siunitx_knows_and_others() -> None:
    assert unit("MB/s") == r"\mega\byte\per\second" and unit("samples/Wh") == "samples/Wh" and unit("a_b") == r"a\_b"


def test_no_text_acts_in_latex() -> None:
    shown = escaped(EVIL)
    allowed = {"input", "textbar", "textless", "textgreater", "textasciitilde", "textasciicircum", "textbackslash",
               "textasciigrave"}  # fmt: skip
    assert set(re.findall(r"\\([A-Za-z]+)", shown)) <= allowed and r"\input" not in shown
    assert not re.search(r"(?<!\\)[%$&#_]", shown) and "--" not in shown and "U+4E2D" in shown


def test_no_text_acts_in_markdown() -> None:
    import polars as pl

    text = markdown(pl.DataFrame({"<b>": [EVIL]}))
    assert "<" not in text and "![x]" not in text and len(re.findall(r"(?<!\\)\|", text)) == 6


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex with siunitx and booktabs")
def test_a_document_compiles(run: "Run", warehouse: Path, tmp_path: Path) -> None:
    for name in ("scaling", "batch_stats", "runs_overview"):
        (tmp_path / f"{name}.tex").write_text(run("query", name, "-w", warehouse, "--format", "latex").out)
    quoted = EVIL.replace("'", "''")
    (tmp_path / "own.tex").write_text(run("sql", f"SELECT '{quoted}' AS t", "-w", warehouse, "--format", "latex").out)
    mixed = glance_table(
        [column("x", "x", "1", "[2]"), column("s", "s [s]", "346.7 ± 1.2", "nan"), column("y", "y", "*", "3 ± 0")]
    )
    (tmp_path / "mixed.tex").write_text(mixed)
    run("numbers", "eff=scaling.efficiency[run='bf16-weak-r2'] in %", "-o", tmp_path / "numbers.tex", "-w", warehouse)
    inputs = "".join(
        rf"\input{{{path.name}}}\par " for path in sorted(tmp_path.glob("*.tex")) if path.stem != "numbers"
    )
    document = (
        r"\documentclass{article}\usepackage{booktabs}\usepackage{siunitx}\input{numbers.tex}\begin{document}"
        rf"{inputs}\SI{{\eff}}{{\effUnit}}\end{{document}}"
    )
    (tmp_path / "document.tex").write_text(document)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]


CLASSES = {
    "ieee-single": "[conference]{IEEEtran}",
    "ieee-double": "[conference]{IEEEtran}",
    "lncs": "{llncs}",
    "84mm": r"{article}\usepackage[textwidth=84mm]{geometry}",
}


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex with siunitx, booktabs, IEEEtran and llncs")
@pytest.mark.parametrize("width", CLASSES)
def test_a_table_is_within_the_column_that_it_is_for(run: "Run", warehouse: Path, tmp_path: Path, width: str) -> None:
    names = ("scaling", "batch_stats", "runs_overview", "throughput")
    for name in names:
        table = run("query", name, "-w", warehouse, "--format", "latex", "--width", width).out
        (tmp_path / f"{name}.tex").write_text(table)
    star = "*" if width.endswith("double") else ""
    tables = "".join(
        rf"\begin{{table{star}}}\begin{{minipage}}{{\hsize}}\input{{{name}}}\end{{minipage}}\end{{table{star}}}"
        for name in names
    )
    packages = r"\usepackage{booktabs}\usepackage{siunitx}"
    document = rf"\documentclass{CLASSES[width]}{packages}\begin{{document}}{tables}\end{{document}}"
    (tmp_path / "document.tex").write_text(document)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    if "File `" in done.stdout and "not found" in done.stdout:
        pytest.skip("a class or a package is not installed")
    assert done.returncode == 0, done.stdout[-2000:]
    assert r"Overfull \hbox" not in (tmp_path / "document.log").read_text(errors="replace")


# Numbers


def numbers(run: "Run", warehouse: Path, output: Path, *selectors: str) -> "Ran":
    return run("numbers", *selectors, "-o", output, "-w", warehouse)


def test_numbers_are_rounded_by_their_intervals(run: "Run", warehouse: Path, tmp_path: Path) -> None:
    path = tmp_path / "n.tex"
    ran = numbers(
        run, warehouse, path,
        "eff=scaling.efficiency[run='bf16-weak-r2']", "effPercent=scaling.efficiency[run=\"bf16-weak-r2\"] in %",
        "step=batch_stats(warmup=3).step_s[run='bf16-weak-r2']", "stepMs=batch_stats.step_s[run='gpt-r1'] in ms",
        "nRuns=SELECT count(*) FROM runs", "who=runs_overview.model[run='gpt-r1']",
    )  # fmt: skip
    assert ran.code == 0 and "6 numbers" in ran.err
    macros = dict(re.findall(r"\\newcommand\{\\(\w+)\}\{(.*)\}", path.read_text()))
    assert macros == {
        "eff": "0.787", "effPercent": "78.7", "effPercentUnit": r"\percent",
        "step": "0.71", "stepLow": "0.62", "stepHigh": "1.00", "stepUnit": r"\second",
        "stepMs": "121", "stepMsLow": "111", "stepMsHigh": "161", "stepMsUnit": r"\milli\second",
        "nRuns": "8", "who": "gpt-toy",
    }  # fmt: skip
    assert "too few for a 95 % interval" in path.read_text()
    assert run("verify", path, "-w", warehouse).code == 0


def test_numbers_named_in_scalelens_toml(
    run: "Run", warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one_line(run("numbers", "-w", warehouse), "no numbers are given")
    Path("scalelens.toml").write_text("[numbers]\nnRuns = 'SELECT count(*) FROM runs'\n")
    assert run("numbers", "-w", warehouse).code == 0
    assert r"\newcommand{\nRuns}{8}" in Path("numbers.tex").read_text()
    assert run("verify", "numbers.tex", "-w", warehouse).code == 0
    Path("numbers.tex").write_text(Path("numbers.tex").read_text().replace("{8}", "{9}"))
    assert "was changed after it was made" in run("verify", "numbers.tex", "-w", warehouse).out
    Path("scalelens.toml").write_text("numbers = 3\n")
    one_line(run("numbers", "-w", warehouse), "not a table of texts")


def test_a_sidecar_may_name_numbers(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "scalelens.toml").write_text("[numbers]\nn = 'SELECT 1'\n")
    ingest([tmp_path / "logs"], tmp_path / "w", jobs=1)
    assert answer(tmp_path / "w", "SELECT count(*) FROM problems").fetchone() == (0,)


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("eff2=scaling.efficiency", ("'eff2' cannot be the name of a macro", "call it effTwo")),
        ("endEff=scaling.efficiency", ("begins with 'end'",)),
        ("a=scaling.efficiency[devices=2]", ("5 rows match", "they differ in", "precision 'fp32', 'bf16'")),
        ("a=scaling.efficiency[devices=99]", ("no rows match", "there are: devices 1, 2")),
        ("a=scaling.eff", ("has no column 'eff'", "efficiency")),
        ("a=scalin.eff", ("there is no query 'scalin'",)),
        ("a=scaling(warm=1).efficiency", ("'warm' is not a parameter",)),
        ("a=hello", ("neither QUERY.COLUMN[KEY=VALUE] nor SQL", "devices=256")),
        ("a=batch_stats.step_s[run='gpt-r1'] in km", ("cannot be given in km", "ms, s")),
        ("a=scaling.tflops_per_device[run='bf16-weak-r2']", ("is not known",)),
        ("a=SELECT 'nan'::DOUBLE", ("a is nan",)),
        ("a=SELECT 1 WHERE false", ("no rows match",)),
        ("a=SELECT * FROM read_csv('/etc/passwd')", ("",)),
    ],
)
def test_a_number_that_cannot_be_told(
    run: "Run", warehouse: Path, tmp_path: Path, selector: str, said: tuple[str, ...]
) -> None:
    one_line(numbers(run, warehouse, tmp_path / "n.tex", selector), *said)
    assert not (tmp_path / "n.tex").exists()


def test_names_that_another_number_takes(run: "Run", warehouse: Path, tmp_path: Path) -> None:
    selectors = ("a=SELECT 1", "aLow=SELECT 2")
    one_line(numbers(run, warehouse, tmp_path / "n.tex", *selectors), "'aLow' is a macro of 'a' already")


def test_a_number_rests_on_its_base(run: "Run", warehouse: Path, tmp_path: Path) -> None:
    """An efficiency of two devices is against one device: its log counts too."""
    numbers(run, warehouse, tmp_path / "n.tex", "eff=scaling.efficiency[run='bf16-weak-r2']")
    (tmp_path / "t.md").write_text(
        run("query", "scaling", "-w", warehouse, "--format", "markdown", "--where", "devices = 2").out
    )
    for name in ("n.tex", "t.md"):
        text = (tmp_path / name).read_text().replace("\n%+", "")
        assert "bf16-r1/rank0.log" in text, name


# Envelopes

ENVELOPE: dict[str, type | tuple[type, ...]] = {
    "schema": str, "query": (str, type(None)), "title": (str, type(None)), "parameters": dict, "columns": list,
    "key_columns": list, "rows": list, "doubts": list, "from": list, "runs": list, "files": list, "rows_in_all": int,
    "truncated": type(None), "empty_because": list, "sql": str, "inputs_sha256": str, "provenance": dict,
}  # fmt: skip
COLUMN: dict[str, type | tuple[type, ...]] = {
    "name": str, "type": str, "unit": (str, type(None)), "meaning": (str, type(None)),
}  # fmt: skip
UNTRUSTED = ("string", "array", "object")  # types of values that may hold text of a log
TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def check_envelope(envelope: dict[str, Any]) -> None:
    """What docs/envelope.md promises."""
    assert envelope["schema"] == "scalelens-envelope/2"
    assert {key: isinstance(value, ENVELOPE[key]) for key, value in envelope.items()} == dict.fromkeys(ENVELOPE, True)
    names = [column["name"] for column in envelope["columns"]]
    for told in map(dict, envelope["columns"]):
        assert told.pop("untrusted", False) == (told["type"] in UNTRUSTED)
        assert {key: isinstance(value, COLUMN[key]) for key, value in told.items()} == dict.fromkeys(COLUMN, True)
    assert set(envelope["key_columns"]) <= set(names)
    assert envelope["rows_in_all"] == len(envelope["rows"]) == len(envelope["from"])
    for row in envelope["rows"]:
        for told, value in zip(envelope["columns"], row, strict=True):
            assert value is None or isinstance(value, TYPES[told["type"]]), told
    said = [(doubt["column"], doubt["untrusted_text"]) for doubt in envelope["doubts"]]
    assert len(set(said)) == len(said) and all(text for _, text in said), "each once"
    for doubt in envelope["doubts"]:
        assert (
            doubt["column"] not in names and doubt["rows"] and set(doubt["rows"]) <= set(range(len(envelope["rows"])))
        )
    check_origins(envelope)
    inputs = envelope["provenance"]["inputs"]
    assert envelope["inputs_sha256"] == hashlib.sha256("\n".join(sorted(inputs)).encode()).hexdigest()


def check_origins(envelope: dict[str, Any]) -> None:
    """Each row names runs or files that are listed; each of these is listed because a row names it."""
    named = {name.partition(":")[0] for origin in envelope["from"] for name in origin}
    assert all(envelope["from"]), "each row comes from somewhere"
    runs = {f"r{place}": run for place, run in enumerate(envelope["runs"])}
    files = {f"f{place}" for place, _ in enumerate(envelope["files"])}
    assert named - {"all"} <= runs.keys() | files and runs.keys() <= named
    of_runs = {f"f{place}" for run in runs.values() for place in run["files"]}
    assert of_runs | (named & files) == files
    assert all(len(run["files"]) == min(run["n_files"], 8) for run in runs.values())


def rows_as_objects(envelope: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of an envelope as `--format json` has them."""
    names = [column["name"] for column in envelope["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in envelope["rows"]]
    for doubt in envelope["doubts"]:
        for place in doubt["rows"]:
            rows[place][doubt["column"]] = doubt["untrusted_text"]
    return rows


@pytest.mark.parametrize("name", ["scaling", "batch_stats", "runs_overview", "exclusions", "temporal_breakdown", "mfu"])
def test_an_envelope_of_a_query(run: "Run", warehouse: Path, name: str) -> None:
    envelope = json.loads(run("query", name, "-w", warehouse, "--format", "envelope").out)
    check_envelope(envelope)
    assert envelope["query"] == name and all(told["meaning"] for told in envelope["columns"])
    rows = json.loads(run("query", name, "-w", warehouse, "--format", "json").out)
    assert (
        isinstance(rows, list)
        and [{key: row.get(key) for key in told} for told, row in zip(rows, rows_as_objects(envelope), strict=True)]
        == rows
    )


def test_an_envelope_of_sql(run: "Run", warehouse: Path) -> None:
    statement = (
        "SELECT 1 AS n, 'x' AS t, 'nan'::DOUBLE AS f, [1, 2] AS l, {'a': 1} AS s, DATE '2026-01-02' AS d FROM range(2)"
    )
    envelope = json.loads(run("sql", statement, "-w", warehouse, "--format", "envelope").out)
    check_envelope(envelope)
    assert envelope["sql"] == statement and envelope["query"] is None and envelope["from"] == [["all"], ["all"]]
    assert rows_as_objects(envelope)[0]["f"] is None


@pytest.mark.parametrize(
    ("command", "keys"),
    [
        (["compare", "fp32-r1", "bf16-r1"], [["step_s"]]),
        (["next-runs", "model=gpt-toy", "model=resnet50", "--within", "5%"], [["a"], ["b"]]),
        (["compare", "--published", "caraml/gpt-ipu", "devices = 1"], []),
        (["history", "runs=model = 'gpt-toy'"], None),
    ],
)
def test_an_envelope_of_a_command(
    run: "Run", warehouse: Path, command: list[str], keys: list[list[str]] | None
) -> None:
    ran = run(*command, "-w", warehouse, "--format", "envelope")
    envelope = json.loads(ran.out)
    check_envelope(envelope)
    found = keys_of(envelope)
    assert (found == keys) if keys is not None else (found and "run_id" in envelope["key_columns"])
    path = warehouse.parent / "command.json"
    path.write_text(ran.out)
    assert run("verify", path, "-w", warehouse, "--no-sources").code == 0, "the SQL in it gives the same rows"


def keys_of(envelope: dict[str, Any]) -> list[list[Any]]:
    """What each row is about."""
    return [[row[name] for name in envelope["key_columns"]] for row in rows_as_objects(envelope)]


def test_keys_stay_when_other_rows_go(run: "Run", warehouse: Path) -> None:
    def keys(*more: str) -> list[list[Any]]:
        return keys_of(json.loads(run("query", "scaling", "-w", warehouse, "--format", "envelope", *more).out))

    every, some = keys(), keys("--where", "devices = 2")
    assert all(every.count(key) == 1 for key in every), "no two rows are about the same"
    assert some and len(some) < len(every) and all(key in every for key in some)


def test_an_empty_envelope_says_why(run: "Run", warehouse: Path) -> None:
    envelope = json.loads(run("query", "energy_integrated", "-w", warehouse, "--format", "envelope").out)
    check_envelope(envelope)
    assert envelope["rows"] == [] and "power" in envelope["empty_because"][0]["untrusted_reason"]
    path = warehouse.parent / "empty.json"
    path.write_text(json.dumps(envelope))
    assert run("verify", path, "-w", warehouse, "--no-sources").code == 0
    path.write_text(json.dumps({**envelope, "empty_because": []}))
    assert run("verify", path, "-w", warehouse, "--no-sources").code == 1


def test_a_row_of_a_line_leads_to_it(run: "Run", warehouse: Path) -> None:
    statement = "SELECT file_id, line, step_s FROM steps WHERE step = 7 AND rank = 0"
    envelope = json.loads(run("sql", statement, "-w", warehouse, "--format", "envelope").out)
    check_envelope(envelope)
    for (file_id, line, _), (origin,) in zip(envelope["rows"], envelope["from"], strict=True):
        place, _, number = origin.removeprefix("f").partition(":")
        file = envelope["files"][int(place)]
        assert (file["file_id"], int(number)) == (file_id, line)
        logged = (LOGS / file["untrusted_path"]).read_text().splitlines()[line - 1]
        assert '"step": 7' in logged


def test_a_name_that_a_pivot_made_of_a_value_is_marked(run: "Run", warehouse: Path) -> None:
    statement = "PIVOT (SELECT outcome, name FROM runs) ON name USING count(*)"
    envelope = json.loads(run("sql", statement, "-w", warehouse, "--format", "envelope").out)
    names = {column["name"]: column.get("untrusted_name") for column in envelope["columns"]}
    assert names.pop("outcome") is None
    assert set(names) == {f"column_{place}" for place in range(2, len(names) + 2)} and "bf16-r1" in names.values()


def test_the_page_on_envelopes_names_every_key() -> None:
    page = (Path(__file__).parents[1] / "docs" / "envelope.md").read_text()
    assert [key for key in (*ENVELOPE, *COLUMN) if f"`{key}`" not in page] == []


def test_only_answers_come_in_an_envelope(run: "Run") -> None:
    ran = run("tables", "--format", "envelope")
    assert ran.code == 2 and "only query and sql" in ran.err


# Bundles


@pytest.fixture(scope="module")
def paper(warehouse: Path) -> Path:
    """The files of a paper beside the warehouse of its study."""
    folder = warehouse.parent
    scalelens.plot("scaling", folder / "scaling.pdf", warehouse)
    scalelens.plot("batch_cdf", folder / "cdf.svg", warehouse, runs="model = 'resnet50'")
    return folder


def test_a_bundle_makes_its_files_again_in_an_empty_environment(run: "Run", paper: Path, tmp_path: Path) -> None:
    table, macros = paper / "t.tex", paper / "n.tex"
    table.write_text(run("query", "scaling", "runs=precision = 'bf16'", "-w", paper / "w", "--format", "latex").out)
    numbers(run, paper / "w", macros, "eff=scaling.efficiency[run='bf16-weak-r2']")
    made = [paper / "scaling.pdf", paper / "cdf.svg", table, macros]
    assert run("bundle", paper / "artifact", *made, "-w", paper / "w").code == 0
    elsewhere = tmp_path / "an other place"
    shutil.move(paper / "artifact", elsewhere)
    source = Path(scalelens.__file__).parents[1]
    empty = {"PYTHON": sys.executable, "PYTHONPATH": str(source), "HOME": str(tmp_path / "nobody")}
    done = subprocess.run(["/bin/sh", elsewhere / "make.sh"], env=empty, cwd="/", capture_output=True, text=True)
    assert done.returncode == 0 and "byte for byte" in done.stdout, done
    for path in made:
        assert (elsewhere / "made" / path.name).read_bytes() == path.read_bytes()
    told = json.loads((elsewhere / "MANIFEST.json").read_text())
    assert set(told["files"]) == {path.name for path in made}
    assert told["files"]["t.tex"]["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    logs = {item["name"]: item["sha256"] for item in told["inputs"]}
    assert logs["bf16-r1/rank0.log"] == hashlib.sha256((LOGS / "bf16-r1" / "rank0.log").read_bytes()).hexdigest()
    assert f"scalelens=={scalelens.__version__}" in (elsewhere / "requirements.txt").read_text()
    for path in made[:2]:
        (elsewhere / "expected" / path.name).unlink()
    (elsewhere / "expected" / "t.tex").write_text(table.read_text().replace("100.0", "100.1"))
    done = subprocess.run(["/bin/sh", elsewhere / "make.sh"], env=empty, cwd="/", capture_output=True, text=True)
    assert done.returncode == 1 and "was changed after it was made" in done.stdout


def test_a_bundle_holds_what_is_needed_and_no_more(run: "Run", paper: Path, tmp_path: Path) -> None:
    path = paper / "cdf.svg"
    assert run("bundle", tmp_path / "b", path, "-w", paper / "w").code == 0
    tables = {name.partition("-")[0] for name in os.listdir(tmp_path / "b" / "warehouse" / "segments")}
    assert "steps" in tables and "events" not in tables
    models = scalelens.query("runs_overview", tmp_path / "b" / "warehouse")["model"].unique().to_list()
    assert models == ["resnet50"]
    assert run("check", "-w", tmp_path / "b" / "warehouse").code == 0


def test_what_cannot_be_bundled(run: "Run", paper: Path, tmp_path: Path) -> None:
    bundle, path = tmp_path / "b", tmp_path / "cdf.svg"
    path.write_text((paper / "cdf.svg").read_text().replace("#0072B2", "#0072B3"))
    one_line(run("bundle", bundle, path, "-w", paper / "w"), "does not match the warehouse", "regenerate it")
    one_line(run("bundle", bundle, path, paper / "cdf.svg", "-w", paper / "w"), "two files have the name cdf.svg")
    one_line(run("bundle", tmp_path, path, "-w", paper / "w"), "already exists")
    (tmp_path / "a.csv").write_text("a\n")
    one_line(run("bundle", bundle, tmp_path / "a.csv", "-w", paper / "w"), "has no provenance record")
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "cdf.svg"]
