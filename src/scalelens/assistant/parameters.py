"""What several tools take: each parameter with its meaning, its bounds and examples; and how one query is answered."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from scalelens.assistant.desk import MOST_ROWS, Page, Reply

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk

LONGEST_TEXT = 100_000  # characters

Columns = Annotated[
    list[str],
    Meta(
        description='Columns to return, by name; without any those that matter most, ["*"] for all.',
        examples=[["run_id", "step_s"]], max_length=200,
    ),
]  # fmt: skip
Offset = Annotated[int, Meta(description="Rows to skip: `next_offset` of the answer before.", ge=0, le=1_000_000_000)]
Limit = Annotated[int, Meta(description="Rows to return at most.", ge=1, le=MOST_ROWS)]
Runs = Annotated[
    str,
    Meta(
        description="SQL condition on `runs` that chooses runs; empty for all.",
        examples=["devices = 8 AND precision = 'bf16'"], max_length=5_000,
    ),
]  # fmt: skip
_Value = str | float | int | bool | None
Parameters = Annotated[
    dict[str, _Value],
    Meta(
        description="Parameters of the query; `explain` lists them.  `runs`, `epochs`, `warmup`, `exclude` are common.",
        examples=[{"runs": "devices = 8", "warmup": 5}],
    ),
]  # fmt: skip
Side = Annotated[
    str,
    Meta(
        description="One side: a run's name or id, key=value, or an SQL condition on `runs`.",
        examples=["fp32-r1", "precision=bf16"], min_length=1, max_length=5_000,
    ),
]  # fmt: skip
FilePath = Annotated[
    str,
    Meta(description="A path below the folder that the server was started with (--root).", examples=["slurm-1234.out"],
         min_length=1, max_length=4_096),
]  # fmt: skip


class OfQuery(Struct, forbid_unknown_fields=True):
    """What a tool takes that asks one query."""

    parameters: Parameters = {}
    columns: Columns = []
    offset: Offset = 0
    limit: Limit = 40


def answer_of(query: str, desk: "Desk", given: OfQuery) -> Reply:
    from scalelens.question.question import Question

    return desk.rows(Question(query, parameters=given.parameters), Page(given.columns, given.offset, given.limit))
