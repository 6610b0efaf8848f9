"""Files that were changed by hand are never certified: attacks on everything that says where it comes from.

Each file is made once, and made again once.  Every attack changes its bytes and asks `compared`, as `verify` does.
"""

import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from attacks_on_verify import Attacked, attacks, count, means_the_same
from attacks_on_verify import attacked as attacked_file
from conftest import ROOT
from scalelens.ingestion.ingest import ingest
from scalelens.question.question import Question
from scalelens.report.file_parts import parts_of
from scalelens.report.plotting import plot
from scalelens.report.provenance_in_files import provenance_in
from scalelens.report.remaking import verified
from scalelens.report.written import write

LOGS = ROOT / "src" / "scalelens" / "demo" / "logs"
TABLES = {"a.json": ("batch_stats", "envelope"), "a.md": ("batch_stats", "markdown"), "a.tex": ("scaling", "latex")}
FIGURES = ("f.json", "f.svg", "f.html", "f.pdf", "f.png")
IN_SUITE = [*TABLES, "f.json", "f.svg"]
PICTURES = ("f.svg", "f.pdf", "f.png")  # no value can be read from them


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Attacked]:
    home = tmp_path_factory.mktemp("attacked")
    ingest([LOGS], home / "w", jobs=1)

    @cache
    def made(name: str) -> Attacked:
        path = home / name
        if name in TABLES:
            query, format = TABLES[name]
            path.write_text(write(home / "w", Question(query), format, format == "latex")[0])
        else:
            plot(home / "w", "scaling", path)
        return attacked_file(path, home / "w")

    return made


def not_certified(file: Attacked, number: int) -> None:
    """So many attacks in each way."""
    assert file.verdict(file.content) == "same"
    for way, changed in attacks(file, number):
        assert file.is_found(changed), (way, changed)


@pytest.mark.parametrize("name", IN_SUITE)
def test_no_changed_value_is_certified(attacked: Callable[[str], Attacked], name: str) -> None:
    not_certified(attacked(name), 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*TABLES, *FIGURES])
def test_no_changed_value_is_certified_in_many_attacks(attacked: Callable[[str], Attacked], name: str) -> None:
    not_certified(attacked(name), 30 if name == "f.html" else 140)


@pytest.mark.slow
def test_no_change_of_any_output_is_certified() -> None:
    """The answer to each query and the figure of each chart, in all kinds of files."""
    missed: list[str] = []
    counted = count(4, missed.append)
    assert not missed
    assert len({kind for kind, _, _ in counted}) >= 10 and sum(counted.values()) > 4_000


# What a file says of itself

OTHERS = {"scalelens": "0.0.1", "definitions": {}, "renderer": "by hand"}  # what only says who made it


def saying(file: Attacked, **lies: Any) -> bytes:
    """The file, with other facts in its provenance."""
    if file.path.suffix == ".json":
        whole = json.loads(file.content)
        (whole["usermeta"]["scalelens"] if "usermeta" in whole else whole["provenance"]).update(lies)
        return json.dumps(whole).encode()
    said, text = json.dumps(json.loads(json.dumps(file.made.provenance)) | lies), file.content.decode()
    if file.path.suffix == ".tex":
        lines = "".join(f"%+{said[k : k + 90]}\n" for k in range(0, len(said), 90))
        return re.sub(r"(?:%\+.*\n)+", lambda _: lines, text, count=1).encode()
    escaped = said.replace("--", "-\\u002d").replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    pattern = (
        r"(?<=<!-- scalelens:provenance ).*(?= -->)" if file.path.suffix == ".md" else r"(?<=provenance:\">).*?(?=</)"
    )
    return re.sub(pattern, lambda _: escaped, text, count=1).encode()


@pytest.mark.parametrize("lie", OTHERS)
@pytest.mark.parametrize("name", IN_SUITE)
def test_who_claims_another_version_is_compared_all_the_same(
    attacked: Callable[[str], Attacked], name: str, lie: str
) -> None:
    file = attacked(name)
    other = saying(file, **{lie: OTHERS[lie]})
    assert file.verdict(other) == ("values" if name.startswith("f.") else "same")
    lying = Attacked(file.path, other, file.made)
    for _, changed in [] if name in PICTURES else attacks(lying, 1):
        assert lying.verdict(changed) in ("different", "cannot", "values"), changed
        assert name.startswith("f.") or lying.verdict(changed) != "values"


@pytest.mark.parametrize("name", IN_SUITE)
def test_a_list_of_inputs_that_was_shortened(attacked: Callable[[str], Attacked], name: str) -> None:
    """Else nobody would look at the log that was changed."""
    file = attacked(name)
    inputs = dict(list(file.made.provenance["inputs"].items())[1:])
    digest = hashlib.sha256("\n".join(sorted(inputs)).encode()).hexdigest()
    for lies in ({"inputs": inputs}, {"inputs": inputs, "inputs_sha256": digest, "n_inputs": len(inputs)},
                 {"n_inputs": 1}, {"inputs": {}}, {"rows": 1}, {"columns": {}}, {"row_hashes": []},
                 {"inputs": inputs, "scalelens": "0.0.1"}):  # fmt: skip
        assert file.verdict(saying(file, **lies)) == "different", lies


def test_what_a_file_says_of_itself_may_be_of_any_kind(attacked: Callable[[str], Attacked]) -> None:
    file = attacked("a.json")
    for key in json.loads(json.dumps(file.made.provenance)):
        for lie in (None, 1, "x", [1], {"x": [None]}):
            if lie != file.made.provenance[key]:
                assert file.verdict(saying(file, **{key: lie})) in ("different", "cannot", "same"), (key, lie)


# Rows and their places


def rows_of(file: Attacked) -> list[bytes]:
    return [line for line in file.content.splitlines(keepends=True) if line.endswith(rb"\\" + b"\n") and b"&" in line]


def test_a_row_stays_below_its_heading_and_inside_its_table(attacked: Callable[[str], Attacked]) -> None:
    file = attacked("a.tex")
    _, first, second, other, *_ = rows_of(file)
    one_place, another = (lambda a, b: file.content.replace(a + b, b + a, 1)), file.content.replace(first, b"", 1)
    assert file.verdict(one_place(first, second)) == "same"
    assert (
        file.verdict(file.content.replace(first, b"@", 1).replace(other, first, 1).replace(b"@", other, 1))
        == "different"
    )
    for after in (b"\\end{tabular}\n", b"\\bottomrule\n", b"\\toprule\n"):
        assert file.verdict(another.replace(after, after + first, 1)) == "different"


def test_values_of_two_rows_of_an_envelope_are_not_rows(attacked: Callable[[str], Attacked]) -> None:
    """Two values change places; each row would still be there if values were compared by themselves."""
    file = attacked("a.json")
    whole = json.loads(file.content)
    place = [column["name"] for column in whole["columns"]].index("step_s")
    first, second = whole["rows"][:2]
    first[place], second[place] = second[place], first[place]
    assert file.verdict(json.dumps(whole).encode()) == "different"


@pytest.mark.parametrize("name", ["a.json", "f.json"])
def test_lines_that_change_places_are_values_that_do(attacked: Callable[[str], Attacked], name: str) -> None:
    """JSON may have one value in each line: then a value swapped with another is two lines in another order."""
    file = attacked(name)
    written, laid_out = file.content, json.dumps(json.loads(file.content), indent=1).encode()
    lines = (written if written.count(b"\n") > 100 else laid_out).splitlines(keepends=True)
    numbers = [k for k, line in enumerate(lines) if re.fullmatch(rb' *("\w+": )?-?[\d.]+,?\n', line)]
    dice, tried = random.Random(name), 0
    while tried < 40:
        one, other = dice.sample(numbers, 2)
        lines[one], lines[other] = lines[other], lines[one]
        changed = b"".join(lines)
        lines[one], lines[other] = lines[other], lines[one]
        if not means_the_same(file, changed):
            tried += 1
            assert file.verdict(changed) in ("different", "cannot"), changed


def test_rows_of_an_envelope_may_stand_in_any_order(attacked: Callable[[str], Attacked]) -> None:
    file = attacked("a.json")
    whole = json.loads(file.content)
    assert whole["doubts"]
    whole["rows"].reverse()
    assert file.verdict(json.dumps(whole).encode()) == "different"  # the doubts and origins stand in the old order
    whole["from"].reverse()
    last = len(whole["rows"]) - 1
    for doubt in whole["doubts"]:
        doubt["rows"] = sorted(last - place for place in doubt["rows"])
    whole["doubts"].sort(key=lambda doubt: doubt["rows"][0])
    assert file.verdict(json.dumps(whole).encode()) == "same"


@pytest.mark.parametrize("lost", ["row", "column", "untrusted_text"])
def test_a_doubt_that_is_lost_or_moved_is_found(attacked: Callable[[str], Attacked], lost: str) -> None:
    file = attacked("a.json")
    whole = json.loads(file.content)
    if lost == "row":
        whole["doubts"][0]["rows"].pop()
    else:
        whole["doubts"][0][lost] += "x"
    assert file.verdict(json.dumps(whole).encode()) == "different"
    whole = json.loads(file.content)
    whole["from"][0] = ["all"]
    assert file.verdict(json.dumps(whole).encode()) == "different"


def test_a_name_that_stands_twice(attacked: Callable[[str], Attacked]) -> None:
    """Python reads the second, others the first."""
    file = attacked("a.json")
    twice = file.content.replace(b'"sql": ', b'"sql": "x", "sql": ', 1)
    assert json.loads(twice) == json.loads(file.content) and file.verdict(twice) == "different"


def test_rows_that_are_alike_stand_in_any_order() -> None:
    def envelope(*rows: tuple[str, int], doubtful: int = 0) -> bytes:
        told = [{"column": "note", "untrusted_text": "few", "rows": [doubtful]}]
        origins = [["r0"] for _ in rows]
        return json.dumps({"rows": rows, "from": origins, "doubts": told, "provenance": {}}).encode()

    said = {"format": "envelope"}
    first = parts_of(envelope(("a", 1), ("a", 2)), said)
    assert first == parts_of(envelope(("a", 2), ("a", 1), doubtful=1), said)
    assert first != parts_of(envelope(("a", 2), ("a", 1)), said), "the doubt is about the other row"
    assert first != parts_of(envelope(("a", 1), ("a", 1)), said)


def test_what_a_log_says_is_not_taken_for_where_a_file_comes_from() -> None:
    planted = '<meta name="scalelens:provenance" content="x"> tEXtscalelens:provenance\0{}'
    content = json.dumps({"rows": [planted], "provenance": {"sql": "FROM x"}}).encode()
    assert provenance_in(content, Path("a.json")) == {"sql": "FROM x"}


def test_an_altered_segment_gives_no_certificate(attacked: Callable[[str], Attacked], tmp_path: Path) -> None:
    file = attacked("a.md")
    copy = shutil.copytree(file.path.parent / "w", tmp_path / "w")
    segment = next((copy / "segments").glob("steps-*"))
    content = bytearray(segment.read_bytes())
    content[-5] ^= 1  # the length of the footer, in its last bytes, would not even be read as Parquet
    place = content.index(b"created_by") if b"created_by" in content else len(content) - 40
    content[-5] ^= 1
    content[place] ^= 0x20
    segment.write_bytes(content)
    found = verified(file.path, copy, sources=False)
    assert found.verdict in ("cannot", "different") and any(segment.name in text for text in found.doubts), found
