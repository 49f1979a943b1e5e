"""The printed form of values in error messages."""


def shorten(value: object) -> str:
    """The repr of a value, cut to at most 200 characters.

    >>> from ricci_pytree._shorten import shorten
    >>> len(shorten("x" * 1000))
    200
    """
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
