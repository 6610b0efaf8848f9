"""The warehouse: immutable segments, and the log that says which of them count."""
