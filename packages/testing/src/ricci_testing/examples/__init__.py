"""Examples of arguments for every primitive: the tables that the laws are checked on."""
