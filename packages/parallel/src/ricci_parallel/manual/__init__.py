"""``shard_map``: run a function on every device of a mesh, on its own shards of the arguments."""
