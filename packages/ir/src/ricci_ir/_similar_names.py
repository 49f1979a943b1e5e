"""Suggest known names for a misspelt one, in error messages."""

from collections.abc import Iterable

__all__ = ["similar_names"]


def similar_names(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """Return the valid names that are closest to a misspelt one, the most similar first.

    Args:
      name: the misspelt name.
      known: the valid names.
      count: the largest number of names to return.

    Example:
      >>> from ricci_ir import similar_names
      >>> similar_names("axes", ["axis", "keepdims"])
      ['axis']
    """
    import difflib  # noqa: PLC0415 - lazy: only messages need it

    return difflib.get_close_matches(name, known, count)
