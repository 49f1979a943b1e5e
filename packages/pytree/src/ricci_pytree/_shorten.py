"""The printed form of values in error messages."""


def shorten(value: object) -> str:
    """The repr of a value, cut to at most 200 characters.

    >>> len(shorten("x" * 1000))
    200
    """
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
