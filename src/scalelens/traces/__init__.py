"""Work on traces that is not a query: a cut for a viewer, the critical path."""
