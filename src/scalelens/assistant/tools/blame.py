"""Which setting, node or device a slowdown goes with, and how sure that is; `explain` has its parameters."""

from functools import partial
from typing import Any

from scalelens.assistant.parameters import OfQuery as Arguments
from scalelens.assistant.parameters import answer_of

__all__ = ["Arguments"]

QUERY = "blame"
EXAMPLE: dict[str, Any] = {"parameters": {}}
answer = partial(answer_of, QUERY)
