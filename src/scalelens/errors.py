"""The one exception that a user sees without a traceback."""


class UserError(Exception):
    """Says what is wrong, where, and what to do about it, in one line."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}; {remedy}" if remedy else what)
