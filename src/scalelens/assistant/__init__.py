"""The server for assistants: one open study behind typed tools, over standard input and output."""
