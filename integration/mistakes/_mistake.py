"""The rows of the tables of mistakes."""

from typing import NamedTuple


class Mistake(NamedTuple):
    """A program with a mistake, as a user writes it, and the words in its error.

    Attributes:
      name: what is wrong.
      program: the program. The line that the user has to look at ends with ``# here``. ``import
        ricci`` and ``import ricci.numpy as jnp`` stand before it.
      error: the name of the error's class, which is JAX's.
      says: words that are in the error's text.
      argument: the name of the argument that is wrong, if there is one; it is in the text, too.
      of_jaxlib: whether jaxlib raises the error, whose text does not name the argument.
    """

    name: str
    program: str
    error: str
    says: tuple[str, ...]
    argument: str = ""
    of_jaxlib: bool = False
