"""The page to look around in: rows of some queries, and the controls that draw, filter and list them."""
