"""Checks the numbers of a text against a warehouse."""
