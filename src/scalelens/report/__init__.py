"""What leaves ScaleLens: a chart with its provenance, as a file."""
