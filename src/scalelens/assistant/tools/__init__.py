"""What an assistant may call: one file per tool.

The docstring of a module says what the tool does, `Arguments` what it takes, `answer(desk, given)` what it gives.
`EXAMPLE` is a call of it on the demo's logs.  `QUERY`, where there is one, names the query without which the tool is
not offered; `CHANGES` says that it may write into the warehouse; `LIMIT_S` how long it may take.
"""
