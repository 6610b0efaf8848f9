"""`scalelens audit`: what a text says against itself.

The texts of tests/fixtures/audit are made up, with defects of the kinds that published tables have; beside each lie the
findings.  The documents themselves lie beside the project on some machines.
"""

import random
import re
import shlex
from pathlib import Path

import pytest

from command_line import Run, one_line
from conftest import FIXTURES, ROOT
from scalelens.audit.finding import Finding
from scalelens.audit.inconsistencies import inconsistencies
from scalelens.audit.printed import bounds_of
from scalelens.audit.printing import lines_of
from scalelens.audit.reading import document_of, read

TEXTS = sorted(path for path in (FIXTURES / "audit").iterdir() if path.suffix != ".findings")
SEEDS = ROOT.parent / "shared" / "seeds"


def said_of(text: str, suffix: str = ".md") -> list[str]:
    """Formulas that a text breaks."""
    return [finding.evidence for finding in inconsistencies(document_of(text, suffix=suffix))]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_findings_of_a_text(path: Path, golden) -> None:
    lines = lines_of(inconsistencies(read(path)), width=80)
    golden("\n".join(lines) + "\n", path.with_name(f"{path.name}.findings"))


# The five documents


@pytest.fixture
def findings(request: pytest.FixtureRequest) -> list[Finding]:
    """Findings of the document whose name begins with the parameter."""
    if not SEEDS.is_dir():
        pytest.skip("the documents do not lie beside the project")
    (path,) = SEEDS.glob(f"{request.param}*.txt")
    return inconsistencies(read(path))


@pytest.mark.parametrize("findings", ["000", "001"], indirect=True)
def test_pdc_and_the_page_on_frontier_contradict_nothing(findings: list[Finding]) -> None:
    assert findings == []


@pytest.mark.parametrize("findings", ["002"], indirect=True)
def test_caraml_on_the_ipu(findings: list[Finding]) -> None:
    power, tokens, start_up = (finding for finding in findings if finding.matters == "conclusion")
    assert "15.68 Wh in 3.9 s are 14.3 kW" in power.sentence
    assert "'Batch Size' divided by 'Energy/Epoch/IPU Wh'" in tokens.sentence
    assert "4.08 tokens/Wh is 4.08 sequences per Wh" in tokens.sentence
    assert "from 4.08 tokens/Wh to 496.43 tokens/Wh" in start_up.sentence and "start-up" in start_up.sentence
    assert [finding.numbers[0].text for finding in findings if finding.matters == "slip"] == ["321.34"]


@pytest.mark.parametrize("findings", ["003"], indirect=True)
def test_tamu_tables_3_and_4(findings: list[Finding]) -> None:
    of_table_3, of_table_4 = findings
    assert [number.text for number in of_table_3.numbers] == ["107,535", "11.8"]
    assert "1,268,910 images" in of_table_3.sentence
    assert [number.text for number in of_table_4.numbers] == ["21,547", "4.9"]
    assert "105,580 images" in of_table_4.sentence and "give 69,9" in of_table_4.sentence


@pytest.mark.parametrize("findings", ["004"], indirect=True)
def test_epicure_prints_its_efficiency_upside_down_once(findings: list[Finding]) -> None:
    (formula,) = findings
    assert formula.evidence == r"e(n) = \frac{t(n)}{t(1)}"
    assert formula.matters == "conclusion"


# What a printed number stands for


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("0.90", "0.895", "0.905"),
        ("1,024", "1023.5", "1024.5"),
        ("2 130", "2129.5", "2130.5"),
        ("2.5e3", "2450", "2550"),
        ("2.1 × 10^3", "2050", "2150"),
        ("1.3 million", "1250000", "1350000"),
        ("70,000", "65000", "75000"),
        ("-3", "-3.5", "-2.5"),
    ],
)
def test_values_that_digits_hide(text: str, low: str, high: str) -> None:
    span = bounds_of(text)
    assert (span.low, span.high) == (pytest.approx(type(span.low)(low)), type(span.low)(high))


def test_a_count_is_exact_unless_it_is_round() -> None:
    assert bounds_of("64", count=True).low == bounds_of("64", count=True).high == 64
    assert bounds_of("8,000", count=True).low == 7500


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [
        ("It takes 15.68 Wh in 3.9 s.", [("15.68", "Wh"), ("3.9", "s")]),
        ("2,130 img/sec on 16 GPUs", [("2,130", "images/s"), ("16", "GPU")]),
        ("384 TFLOPS per GPU, 77 percent", [("384", "TFLOP/s/GPU"), ("77", "%")]),
        ("14.2-fold, 2.45× and 3 times", [("14.2", "x"), ("2.45", "x"), ("3", "x")]),
        ("ResNet-50 on the A100 in 2022, see Table 3, [12], v1.15 and 192.168.0.1", []),
        ("See https://a.org/1234 of 2022-11-22, `n = 4`, 12:30", []),
    ],
)
def test_numbers_and_units_of_a_sentence(sentence: str, numbers: list[tuple[str, str]]) -> None:
    assert [(number.text, number.unit) for number in document_of(sentence).numbers] == numbers


def test_numbers_of_latex() -> None:
    text = r"It reads 1{,}024~images/s, 2\,130 tokens/s, at 88\,\% of \SI{15.68}{\watt\hour} % and 7 s"
    numbers = [("1,024", "images/s"), ("2 130", "tokens/s"), ("88", "%"), ("15.68", "Wh")]
    assert [(number.text, number.unit) for number in document_of(text, suffix=".tex").numbers] == numbers


def test_a_number_knows_its_place() -> None:
    document = document_of(
        "# Title\n\nFirst line of a\nsentence with 8 GPUs.\n\n| GPUs | time [s] |\n|---|---|\n| 8 | 3.0 |\n"
    )
    in_prose, devices, time = document.numbers
    assert (in_prose.line, in_prose.column, in_prose.table) == (4, 15, None)
    assert (devices.line, devices.column, devices.table, devices.row, devices.cell) == (8, 3, 0, 0, 0)
    assert (time.words, time.unit) == ("8 time [s]", "s")


ROWS = [("GPUs", "images/s"), ("1", "100"), ("2", "198"), ("4", "388")]
TABLES = {
    ".md": "| {} | {} |\n|--|--|\n| {} | {} |\n| {} | {} |\n| {} | {} |\n",
    ".csv": "{},{}\n{},{}\n{},{}\n{},{}\n",
    ".tex": "\\begin{{tabular}}{{rr}}\\hline\n{} & {}\\\\\n{} & \\textbf{{{}}} \\\\ % two\n{} & {}\\\\{} &\n {}\\\\\n\\end{{tabular}}\n",
    ".txt": "{}  {}\n{}     {}\n{}     {}\n{}     {}\n",
    "tabs": "{}\t{}\n{}\t{}\n{}\t{}\n{}\t{}\n",
}


@pytest.mark.parametrize("suffix", TABLES)
def test_tables_of_every_kind_are_read_alike(suffix: str) -> None:
    text = TABLES[suffix].format(*(cell for row in ROWS for cell in row))
    (table,) = document_of(text, suffix=suffix if suffix != "tabs" else ".txt").tables
    assert [measure.kind for measure in table.meanings] == ["devices", "rate"]
    assert [tuple(number.text for number in row if number) for row in table.cells] == ROWS[1:]


def test_a_heading_of_two_rows_spans_columns() -> None:
    text = (
        "Total IPU count\tThroughput (images/s)\t\n\t1st epoch\t2nd epoch\n1\t1,113.0\t1,862.9\n2\t1,538.2\t3,717.2\n"
    )
    (table,) = document_of(text).tables
    assert table.headings == ("Total IPU count", "Throughput (images/s) 1st epoch", "Throughput (images/s) 2nd epoch")
    assert [measure.kind for measure in table.meanings] == ["devices", "rate", "rate"]


def test_a_plus_after_a_number_makes_it_a_bound() -> None:
    text = "The target is 85%+ before phase 8, with 100+ clients: 3+4 = 7 of them are slow, by 5 +/- 1 ms."
    numbers = {number.text: number.hedge for number in document_of(text, suffix=".md").numbers}
    assert numbers == {"85": "bound", "8": "", "100": "bound", "3": "", "4": "", "7": "", "5": "", "1": ""}


# What is allowed

SILENT = {
    "a formula of a throughput": "The efficiency is $e(n) = \\frac{r(n)}{r(1)}$, where $r(n)$ is the throughput per GPU.",
    "a formula the right way round": "The efficiency is $e(n) = \\frac{t(1)}{t(n)}$, where $t(n)$ is the runtime.",
    "a formula of a fixed work": "The efficiency is E(n) = t(1) / (n t(n)), where t(n) is the runtime.",
    "a formula of a slowdown": "The slowdown is $d(n) = \\frac{t(n)}{t(1)}$, where $t(n)$ is the runtime.",
    "a warm-up that the rate leaves out": "It runs at 2,130 images/s, and 1.28 million images took 719.4 s.",
    "a hedge": "It processes about 2,000 images/s for 719.4 s, 1,532,000 images in total.",
    "numbers side by side": "The A takes 100 W and the B 300 W, while C is 1.5 times faster.",
    "super-linear, and said so": "Scaling is super-linear: the parallel efficiency of 112 % comes from the cache.",
    "super-linear, in a bare table": "| GPUs | efficiency |\n|--|--|\n| 1 | 1.000 |\n| 2 | 1.214 |\n| 4 | 1.558 |\n",
    "super-linear, of its own times": "| GPUs | time (s) | efficiency (%) |\n|--|--|--|\n| 1 | 100.0 | 100.0 |\n| 2 | 49.0 | 102.0 |\n"
    "| 4 | 16.05 | 155.8 |\n",
    "super-linear, said of a table": "| GPUs | efficiency |\n|--|--|\n| 1 | 1.000 |\n| 4 | 1.558 |\n\nThe parallel efficiency is 1.558.",
    "speedups by medians, rates of whole runs": "| GPUs | step (s) | speedup | images/s |\n|--|--|--|--|\n| 32 | 0.1875 | 1.000 | 85.30 |\n"
    "| 64 | 0.1893 | 1.981 | 168.96 |\n| 128 | 0.1927 | 3.892 | 332.18 |\n| 256 | 0.2213 | 6.778 | 578.25 |\n",
    "rates with a stall, speedups without": "| GPUs | step (s) | speedup | images/s |\n|--|--|--|--|\n| 1 | 0.1766 | 1.000 | 1449.6 |\n"
    "| 2 | 0.1790 | 1.973 | 2860.3 |\n| 4 | 0.1811 | 3.901 | 5654.3 |\n| 8 | 0.1871 | 7.551 | 7102.0 |\n| 16 | 0.1899 | 14.879 | 21569.2 |\n",
    "work that is done several times": "We train 9 epochs of 1,281,167 images in 11.79 min, i.e., 16,300 images/s.",
    "a batch that is taken several times": "We accumulate 4 micro-batches of 8 sequences of 2,048 tokens, 65,536 tokens per step.",
    "steps of several runs": "We ran 3 times 12 steps of 256 images, 9,216 images in total.",
    "energy of several devices": "We used 4 GPUs with 350 Wh in 2.0 h, a mean power of 700 W.",
    "a share of a large count": "We used 37 % of 2978 nodes.",
    "a base of its own": "A speedup of 3.8 on 64 GPUs compared to 16 GPUs is an efficiency of 95 %.",
    "points": "The efficiency falls from 95 % to 77 %, by 18 %.",
    "a highest of some": "| system | images/s |\n|--|--|\n| A100 | 8,642 |\n| IPU | 21,547 |\n\n"
    "The highest throughput of 8,642 images/s is that of the A100.",
    "two studies in one table": "| images/s | time (s) |\n|--|--|\n| 100 | 10.0 |\n| 200 | 5.0 |\n| 100 | 90.0 |\n| 50 | 180.0 |\n",
    "work that differs": "| batch | images/s | time (s) |\n|--|--|--|\n| 1 | 100 | 1.0 |\n| 2 | 150 | 1.3 |\n| 4 | 200 | 2.0 |\n",
    "energy of a fixed work": "| batch size | energy [Wh] | images/Wh |\n|--|--|--|\n| 16 | 32.09 | 31163 |\n| 64 | 24.00 | 41667 |\n"
    "| 256 | 16.00 | 62500 |\n| 512 | 12.00 | 83333 |\n",
    "another data set": "| model | images/s | time (s) |\n|--|--|--|\n| R50 | 100 | 10.0 |\n| R101 | 50 | 20.0 |\n| R152 | 40 | 25.0 |\n"
    "| V16 | 80 | 12.5 |\n| BERT | 30 | 90.0 |\n",
    "another number of epochs": "| epochs | images/s | time (s) |\n|--|--|--|\n| 90 | 100 | 10.0 |\n| 90 | 50 | 20.0 |\n| 90 | 40 | 25.0 |\n"
    "| 90 | 80 | 12.5 |\n| 45 | 80 | 6.25 |\n",
    "two systems with a base each": "| system | GPUs | images/s | speedup |\n|--|--|--|--|\n| A | 1 | 100 | 1.00 |\n| | 2 | 198 | 1.98 |\n"
    "| | 4 | 390 | 3.90 |\n| | 8 | 770 | 7.70 |\n| | 16 | 1500 | 15.0 |\n| | 32 | 2900 | 29.0 |\n| B | 1 | 50 | 1.00 |\n| | 2 | 99 | 1.98 |\n",
    "two batch sizes with a base each": "| batch | GPUs | images/s | speedup |\n|--|--|--|--|\n| 8 | 1 | 100 | 1.00 |\n| 8 | 2 | 198 | 1.98 |\n"
    "| 8 | 4 | 390 | 3.90 |\n| 8 | 8 | 770 | 7.70 |\n| 8 | 16 | 1500 | 15.0 |\n| 8 | 32 | 2900 | 29.0 |\n| 4 | 1 | 50 | 1.00 |\n| 4 | 2 | 99 | 1.98 |\n",
    "a total that leaves parts out": "| part | time (s) | count |\n|--|--|--|\n| a | 10.0 | 5 |\n| b | 20.0 | 6 |\n| total | 45.0 | 19 |\n",
    "energy of a node": "| devices | energy/node [Wh] | time (s) |\n|--|--|--|\n| 4 | 2.0 | 1.0 |\n| 8 | 2.0 | 1.0 |\n",
}


@pytest.mark.parametrize("why", SILENT)
def test_what_can_be_true_is_not_accused(why: str) -> None:
    assert said_of(SILENT[why]) == []


ACCUSED = {
    "of a fixed work": (
        "The parallel efficiency is $E(n) = \\frac{n\\, t(n)}{t(1)}$, where $t(n)$ is the runtime.",
        "E(n) = \\frac{n\\, t(n)}{t(1)}",
    ),
    "E = T_n / T_1": ("The speedup is S = T_n / T_1.", None),
    "speedup": ("We define the speedup as S(n) = t(n) / t(1), where t(n) is the runtime.", "S(n) = t(n) / t(1)"),
    "rate": ("The parallel efficiency e(n) = p(1)/p(n), where p(n) is the throughput per GPU.", "e(n) = p(1)/p(n)"),
    "power": ("The node took 350 Wh in 2.0 h, a mean power of 17.5 W.", "energy / time = mean power"),
    "efficiency": ("A speedup of 14.2 on 16 GPUs is an efficiency of 98 %.", "efficiency = speedup / devices"),
    "rows that are alike follow any formula": (
        "| rank | exposed share [%] | span [ms] |\n|--|--|--|\n| 0 | 15.8 | 283.3 |\n| 1 | 15.7 | 283.2 |\n"
        "| 2 | 15.8 | 283.3 |\n| 3 | 15.8 | 283.2 |\n| 4 | 15.7 | 283.2 |\n| 5 | 3.2 | 283.4 |\n",
        None,
    ),
    "above one": ("This is a parallel efficiency of 112 %.", "efficiency ≤ 1"),
    "above one, and its speedup is not": (
        "| GPUs | speedup | efficiency |\n|--|--|--|\n| 1 | 1.00 | 1.00 |\n| 2 | 1.90 | 0.95 |\n| 4 | 3.64 | 1.91 |\n",
        "efficiency = speedup / devices",
    ),
    "tokens": ("Of 1,024 sequences of 2,048 tokens, that is 2,079,152 tokens per step.", "tokens = sequences × length"),
    "share": ("We saw it on 35 % of 16 GPUs.", "share × count is a whole number"),
    "batches": ("We ran 12 steps of 256 images, 3,012 images in total.", "work = steps × batch size"),
    "work": ("It reads 2,130 images/s for 719.4 s, a total of 1,352,000 images.", "rate × time = work"),
    "bold": (
        "The best result is in bold.\n\n| size | time (s) |\n|--|--|\n| 16 | 8.1 |\n| 32 | **7.3** |\n| 64 | 6.9 |\n",
        "the best is the largest or the smallest of its column",
    ),
}


@pytest.mark.parametrize("what", ACCUSED)
def test_what_cannot_be_true_is_accused(what: str) -> None:
    text, evidence = ACCUSED[what]
    assert said_of(text) == ([evidence] if evidence else [])


PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
LONG = ("docs/formats.md", "docs/queries.md")  # printed from headers: they take longer than all other pages


@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.slow if page in LONG else ()) for page in PAGES])
def test_the_pages_of_the_project_contradict_nothing(page: str) -> None:
    found = inconsistencies(read(ROOT / page))
    assert page in ("docs/audit.md", "docs/studies/caraml.md") or found == []  # these show what does not hold


HEADINGS = (
    "GPUs", "nodes", "batch size", "time (s)", "step time [ms]", "epoch time (s)", "images/s", "tokens/s/GPU", "speedup",
    "efficiency (%)", "energy/GPU [Wh]", "energy (kWh)", "mean power [W]", "images/Wh", "tokens/Wh", "share (%)", "part",
)  # fmt: skip
NUMBERS = (
    "0",
    "0.0",
    "-5",
    "1",
    "1,000",
    "1e9",
    "2.5e-9",
    "7 %",
    "8 GPUs",
    "3 Wh",
    "0.0 s",
    "1 billion",
    "**4**",
    "2x",
    "",
)
JOINTS = (
    " of ",
    " in ",
    ", a mean power of ",
    ", that is ",
    " from ",
    " to ",
    ", a speedup of ",
    ". The best is in bold: ",
)


@pytest.mark.parametrize("seed", range(40))
def test_nothing_that_a_text_holds_raises(seed: int) -> None:
    draw = random.Random(seed)
    headings = draw.sample(HEADINGS, 5)
    rows = [headings, *([draw.choice(NUMBERS) for _ in headings] for _ in range(8))]
    prose = "".join(draw.choice(NUMBERS) + draw.choice(JOINTS) for _ in range(60))
    text = f"1 epoch = 4 * batch size. {prose}\n\n" + "\n".join("\t".join(row) for row in rows)
    assert all(finding.numbers for finding in inconsistencies(document_of(text)))


# The command and its page


def test_the_page_shows_what_its_commands_print(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "audit.md").read_text()
    draft = re.search(r"^```markdown\n(.+?)^```$", page, re.DOTALL | re.MULTILINE)
    assert draft
    (tmp_path / "draft.md").write_text(draft[1])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    plain, as_json = (
        run(*shlex.split(line)) for line in re.findall(r"^scalelens (audit draft\.md.*)", page, re.MULTILINE)
    )
    assert (plain.code, as_json.code) == (1, 1)
    assert f"\n```\n{plain.out}```\n" in page
    assert as_json.out.count('"kind"') == 3


def test_the_command_says_what_changes_a_conclusion_first(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = run("audit", FIXTURES / "audit" / "scaling.md")
    assert ran.code == 1
    assert ran.out.startswith("Changes a conclusion\n")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "3 that change a conclusion, 0 slips" in ran.err


def test_the_command_answers_programs(run: Run) -> None:
    import msgspec

    ran = run("audit", FIXTURES / "audit" / "scaling.md", "--format", "json")
    first, *_ = msgspec.json.decode(ran.out)
    assert (first["kind"], first["line"], first["number"], first["unit"]) == ("inconsistent", 11, "31,640", "images/s")


def test_a_text_that_holds_gives_exit_0(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A speedup of 14.2 on 16 GPUs is an efficiency of 89 %.\n")
    assert run("audit", tmp_path / "a.md")[:2] == (0, "")


def test_what_is_no_text_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    one_line(run("audit", tmp_path / "a.txt"), "is not text in UTF-8")
    one_line(run("audit", tmp_path / "a.pdf"), "is not a text file of a known type")
    one_line(run("audit", tmp_path / "none.md"), "cannot be read")


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_a_text_may_end_anywhere(path: Path) -> None:
    text = path.read_text()
    for end in range(0, len(text), 7):
        inconsistencies(document_of(text[:end], suffix=path.suffix))


@pytest.mark.parametrize("text", ["12e847201", "3e99999999999", "1" * 60, "7e-4242"])
def test_an_identifier_is_no_number(text: str) -> None:
    assert (
        document_of(f"The run {text} took 3.0 s.\n\n| run | time (s) |\n|--|--|\n| {text} | 3.0 |\n").numbers[0].text
        == "3.0"
    )
