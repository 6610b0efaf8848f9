"""From files to the warehouse: walk, recognise, read, over several processes."""
