"""The laws that every primitive obeys, one module for each kind."""
