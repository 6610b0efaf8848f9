"""Numbers of sentences that follow from those around them, by the same arithmetic in any order of words."""
