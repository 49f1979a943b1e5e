"""The known names that are like one that is not known, for messages."""

from collections.abc import Iterable
from importlib import import_module

__all__ = ["similar_names"]


def similar_names(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known names that are most like a name, the most similar first.

    Args:
      name: what somebody wrote.
      known: what they may have meant.
      count: how many names to return at most.

    Example:
      >>> from ricci_ir import similar_names
      >>> similar_names("axes", ["axis", "keepdims"])
      ['axis']
    """
    difflib = import_module("difflib")  # only messages need it
    return difflib.get_close_matches(name, known, count)
