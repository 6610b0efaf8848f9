"""What a size that was not run would take: an interval, or why none can be given; `explain` has its parameters."""

from functools import partial
from typing import Any

from scalelens.assistant.parameters import OfQuery as Arguments
from scalelens.assistant.parameters import answer_of

__all__ = ["Arguments"]

QUERY = "forecast"
EXAMPLE: dict[str, Any] = {"parameters": {}}
answer = partial(answer_of, QUERY)
