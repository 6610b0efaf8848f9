"""The queries: a `.sql` file in a topic's folder is a question; `load.py` finds it, `header.py` reads it."""
