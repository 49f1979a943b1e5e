"""Check arguments that select one of a few behaviours by name."""

from collections.abc import Sequence


def check_choice(function: str, argument: str, value: object, choices: Sequence[object]) -> None:
    """Raise ``ValueError`` for a value that is not among the choices.

    Args:
      function: the name of the function, for the message.
      argument: the name of the argument.
      value: the argument.
      choices: the values that it may have.
    """
    if value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(
            f"{function}: {argument}={value!r} is unknown; it is {', '.join(others)} or {last}."
        )
