"""From files to the warehouse: walk, recognize, read, over several processes."""
