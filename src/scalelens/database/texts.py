"""Texts and names as SQL writes them."""


def sql_text(text: str) -> str:
    """A text in quotation marks."""
    return "'" + text.replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """A name in quotation marks, so that any may be one."""
    return '"' + name.replace('"', '""') + '"'
