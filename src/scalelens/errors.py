"""The one exception that a user sees without a traceback."""


class UserError(Exception):
    """What is wrong and where, then what to do about it: one line."""

    def __init__(self, complaint: str, remedy: str = "") -> None:
        super().__init__(f"{complaint}; {remedy}" if remedy else complaint)
