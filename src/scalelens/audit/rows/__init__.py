"""Rows of small tables, which the text around them and what is printed twice help to judge."""
