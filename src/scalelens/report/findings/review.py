"""Would a reviewer accept this study?"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scalelens.report.text.sentences import FindingSentence, few

if TYPE_CHECKING:
    import polars as pl

PLACE = 240
IS_REMARK = True
SQL = "FROM review() ORDER BY rule_order"
GLANCE = ("rule", "verdict", "evidence", "remedy", "n_of", "n_broken", "n_unknown", "source")


def sentences(rows: "pl.DataFrame", names: Mapping[str, str]) -> list[FindingSentence]:
    """How many rules are met, then those that are not."""
    verdicts = rows["verdict"].to_list()
    met, broken = verdicts.count("met"), verdicts.count("not met")
    unknown = len(verdicts) - met - broken
    are_met, are_not = ("is" if count == 1 else "are" for count in (met, broken))
    text = f"{met} of {len(verdicts)} rules {are_met} met, {broken} {are_not} not"
    text += f"; the logs do not say enough about the other {unknown}."
    result = [FindingSentence(text)]
    for row in rows.filter(rows["verdict"] == "not met").iter_rows(named=True):
        evidence, remedy = (f"{text[:1].upper()}{text[1:]}." for text in (row["evidence"], row["remedy"]))
        result.append(FindingSentence(f"Not met: {row['rule']} ({row['source']}).", f"{evidence} {remedy}"))
    return few(result)


def nothing(rows: "pl.DataFrame") -> str:
    return "There are no runs to review."
