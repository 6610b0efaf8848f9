"""Published results as data: every derived column is recomputed here with decimals, apart from the query that does it."""

import re
from decimal import Decimal

import pytest

from conftest import ROOT
from little_warehouse import Warehouse
from scalelens import catalog

ROWS = catalog.rows("published")
IMAGES = {"tamu/table-4": (Decimal(70000), Decimal(70000))}
DOES_NOT_FOLLOW = [
    ("caraml/gpt-ipu", 4), ("caraml/gpt-ipu", 8), ("tamu/table-3", 10), ("tamu/table-3", 11), ("tamu/table-3", 12),
    ("tamu/table-4", 10),
]  # fmt: skip

Interval = tuple[Decimal, Decimal]


def cell(name: str, entry: int, quantity: str) -> Interval:
    """What the printed digits of a number leave possible."""
    (row,) = [row for row in ROWS if (row["name"], row["entry"], row["quantity"]) == (name, entry, quantity)]
    number = Decimal(row["printed"].replace(",", ""))
    half = Decimal(1).scaleb(number.as_tuple().exponent) / 2
    return number - half, number + half


def entries(name: str) -> list[int]:
    return sorted({row["entry"] for row in ROWS if row["name"] == name})


def meet(a: Interval, b: Interval) -> bool:
    return a[0] <= b[1] and b[0] <= a[1]


def work_over_energy(name: str, entry: int) -> bool:
    batch = next(row["batch"] for row in ROWS if (row["name"], row["entry"]) == (name, entry))
    work = Decimal(int(batch)) if name == "caraml/gpt-ipu" else Decimal(1281167)
    least, most = cell(name, entry, "energy of an epoch")
    return meet(cell(name, entry, "work per energy"), (work / most, work / least))


def images(name: str, entry: int) -> Interval:
    rate, time = cell(name, entry, "throughput"), cell(name, entry, "training time")
    return rate[0] * time[0], rate[1] * time[1]


def test_every_derived_number_is_recomputed_and_those_that_do_not_follow_are_known() -> None:
    judged = {
        (name, entry): work_over_energy(name, entry)
        for name in ("caraml/gpt-ipu", "caraml/resnet-ipu")
        for entry in entries(name)
    }
    for name in ("tamu/table-3", "tamu/table-4"):
        wanted = IMAGES.get(name) or images(name, 1)
        judged |= {(name, entry): meet(images(name, entry), wanted) for entry in entries(name)}
    assert len(judged) == 9 + 9 + 12 + 10
    assert [key for key, follows in judged.items() if not follows] == DOES_NOT_FOLLOW


def test_the_query_says_the_same(warehouse: Warehouse) -> None:
    asked = warehouse.ask("FROM published_checks()")
    assert len(asked) == 40
    assert [(row["name"], row["entry"]) for row in asked if not row["follows"]] == DOES_NOT_FOLLOW


def test_numbers_are_as_printed_and_the_page_names_each_document() -> None:
    page = (ROOT / "docs" / "published.md").read_text()
    for row in ROWS:
        assert float(row["printed"].replace(",", "")) == row["value"], row
        assert f"`{row['name'].split('/')[0]}/...`" in page
    assert len({(row["name"], row["entry"], row["quantity"]) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("name, entry", DOES_NOT_FOLLOW)
def test_the_page_lists_what_does_not_follow(name: str, entry: int) -> None:
    assert re.search(rf"^\| `{name}` \| {entry} \|", (ROOT / "docs" / "published.md").read_text(), re.MULTILINE)
