"""Statistics that SQL would make unreadable, on numpy arrays; `functions.py` makes them known to SQL."""
