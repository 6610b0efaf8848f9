"""Relations that a text shows by itself: a form that all rows but one or two fulfill accuses these."""
