"""What a query computes (definition, formula, limits, parameters, columns); or a table, a format, a column."""

from typing import TYPE_CHECKING, Annotated

import msgspec

from scalelens.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from scalelens.assistant.desk import Desk, Reply

EXAMPLE = {"name": "mfu"}


class Arguments(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[
        str,
        msgspec.Meta(
            description="A query, table, format or column; `tables` and `formats` list these.",
            examples=["scaling", "steps", "megatron"], min_length=1, max_length=200,
        ),
    ]  # fmt: skip
    sql: Annotated[bool, msgspec.Meta(description="Its SQL, too.")] = False
    start: Annotated[int, msgspec.Meta(description="Character to begin at: `next_start`.", ge=0)] = 0


def answer(desk: "Desk", given: Arguments) -> "Reply":
    from scalelens.assistant.desk import Reply
    from scalelens.assistant.fitting import fitted_text

    return Reply(fitted_text("text", _page_of(given.name, desk, given.sql), given.start, {"name": given.name}))


def _page_of(name: str, desk: "Desk", with_sql: bool = False) -> str:
    """The documentation of a query, table, format or column.  Raises UserError where there is none of the name."""
    from scalelens.ingestion.formats import load as load_formats
    from scalelens.parsing.format_file import name_of
    from scalelens.queries.explain import columns_named, page
    from scalelens.queries.load import load
    from scalelens.tables import MEANINGS, documented

    queries = load(desk.folders)
    if name == "tables":
        return "\n".join(f"{table}: a row is {MEANINGS[table]}" for table in documented())
    if name in queries:
        return page(queries[name], with_sql)
    if name in documented():
        lines = (f"  {column.name}  {column.type}  {column.meaning}" for column in documented()[name])
        return "\n".join([f"{name}: a row is {MEANINGS[name]}", *lines])
    loaded = load_formats()
    formats = {name_of(module): (module.__doc__ or "").strip() for module in (*loaded.of_lines, *loaded.of_files)}
    if name == "formats":
        return "\n".join(f"{format}: {text.splitlines()[0]}" for format, text in sorted(formats.items()))
    if name in formats:
        return formats[name]
    if found := columns_named(name, queries):
        return found
    known = {**queries, **formats, **documented()}
    raise UserError(
        f"there is no query, table, format or column '{name}'",
        did_you_mean(name, known) or "list_questions lists queries",
    )
