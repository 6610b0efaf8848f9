"""Which parts of files are one run, and what is known about it."""
