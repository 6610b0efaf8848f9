"""A finding of the audit: its kind, a sentence for people, and the evidence."""

from dataclasses import dataclass

from scalelens.audit.printed import Number

ACCUSING = ("inconsistent", "stale", "claim")


@dataclass(frozen=True)
class Finding:
    """One statement about one or more numbers of the text.

    kind      one of ACCUSING, "reproduced" or "untraceable"; "claim" is a claim that does not hold
    numbers   the numbers that it is about, the accused one first
    sentence  in plain words, with the values
    matters   "conclusion" if a reader would conclude otherwise, "slip" if not; "" if nothing is accused
    evidence  the formula or the SQL that it rests on
    """

    kind: str
    numbers: tuple[Number, ...]
    sentence: str
    matters: str
    evidence: str
