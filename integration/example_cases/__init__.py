"""Examples of the public functions, in our own words, and how those of documents are read."""
