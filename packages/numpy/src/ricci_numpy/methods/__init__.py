"""The operators, methods and properties of arrays."""
