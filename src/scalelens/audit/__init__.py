"""Checks the numbers of a text against each other and against a warehouse."""
