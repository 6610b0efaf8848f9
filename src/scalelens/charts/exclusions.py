"""What a query left out of its numbers, as the last sentence of a caption."""

from collections.abc import Mapping

from scalelens.charts import words

# By the rules of selected_steps: what a record is called that a rule leaves out, and several of them.
_RECORDS = {
    "logged_warmup": ("record that the log calls warm-up", "records that the log calls warm-up"),
    "warmup": ("warm-up record", "warm-up records"),
    "first_of_epoch": ("first batch of an epoch", "first batches of epochs"),
    "last_of_epoch": ("last batch of an epoch", "last batches of epochs"),
    "evaluation": ("record with an evaluation", "records with an evaluation"),
    "checkpoint": ("record with a checkpoint", "records with a checkpoint"),
    "skipped": ("record with skipped iterations", "records with skipped iterations"),
    "implausible": ("time that cannot be true", "times that cannot be true"),
    "summary": ("summary mean of steps that other records time", "summary means of steps that other records time"),
    "not_steady": ("record before the steady state", "records before the steady state"),
    "ambiguous": ("record of an unknown launch or rank", "records of an unknown launch or rank"),
}


def sentence(left_out: Mapping[str, int], parameters: Mapping[str, str] | None = None) -> str:
    """`Left out: 8 warm-up records, 3 first batches of epochs.`, from the number of records by rule.

    With the `parameters` of a figure of rates it says that the warm-up counts, which lowers each of them.
    """
    if not left_out:
        counts = (parameters or {}).get("exclude") == "none"
        return "Nothing left out. The warm-up counts, too." if counts else "Nothing left out."
    places = list(_RECORDS)
    rules = sorted(left_out, key=lambda rule: (places.index(rule) if rule in places else len(places), rule))
    return f"Left out: {', '.join(_counted(rule, left_out[rule]) for rule in rules)}."


def _counted(rule: str, count: int) -> str:
    one, many = _RECORDS.get(rule, (f"record ({rule})", f"records ({rule})"))
    return words.counted([count], one, many)
