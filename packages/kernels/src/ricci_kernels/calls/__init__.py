"""``pallas_call``: its primitive, its interpretation over the grid, its batch and partitions."""
