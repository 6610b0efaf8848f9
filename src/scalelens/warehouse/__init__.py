"""The warehouse: immutable segments, and the log that decides which of them count."""
