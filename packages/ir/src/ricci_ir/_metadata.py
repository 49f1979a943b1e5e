"""XLA metadata that operations are traced with; ``ricci_lax`` sets it."""

from ._settings import State, define_context

__all__ = ["operation_metadata"]

# ``operation_metadata.value`` is pairs of names and texts, sorted by name. An equation stores those
# that it was traced under, and so do the equations that are derived from it.
operation_metadata: State = define_context("operation_metadata", default=(), per_equation=True)
