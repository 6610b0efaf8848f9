"""What leaves ScaleLens: figures as files, the report, tables as text, all with their provenance."""
