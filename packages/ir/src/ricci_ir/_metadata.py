"""Attributes for the compiler that operations are traced with; ``ricci_lax`` sets them."""

from ._settings import State, define_context

__all__ = ["operation_metadata"]

# ``operation_metadata.value`` is pairs of names and texts, sorted by name. An operation holds those
# that it was applied under, and so do the operations that are derived from it.
operation_metadata: State = define_context("operation_metadata", default=(), held=True)
