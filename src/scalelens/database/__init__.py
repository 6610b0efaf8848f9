"""A warehouse in DuckDB: tables as views, queries as macros."""
