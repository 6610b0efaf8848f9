"""Answers as text: values, columns and sentences as people read them, and tables as CSV, JSON, Markdown and LaTeX."""
