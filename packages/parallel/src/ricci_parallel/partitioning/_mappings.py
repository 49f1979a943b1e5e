"""Factors of an array's dimensions, of which sharding rules are made."""

from collections.abc import Iterator

__all__ = ["ArrayMapping", "BATCHING", "CompoundFactor"]

# The factor for any number of leading dimensions. A name may follow it.
BATCHING = "…"


class CompoundFactor(tuple[str, ...]):
    """A dimension that several factors make up, major to minor, as after a reshape.

    Args:
      *factors: the names of at least two factors.

    Raises:
      ValueError: if there are fewer, or one is not a factor's name.

    Example:
      >>> from ricci.experimental.custom_partitioning import CompoundFactor
      >>> CompoundFactor("heads", "size")
      ('heads', 'size')
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> "CompoundFactor":
        if len(factors) < 2:
            raise ValueError(
                f"CompoundFactor needs at least two factors, got {factors}. A dimension of one "
                "factor is its name."
            )
        for factor in factors:
            _check_name("CompoundFactor", factor)
        return super().__new__(cls, factors)


# The factors of one dimension.
type Factor = str | CompoundFactor


class ArrayMapping(tuple[Factor, ...]):
    """The dimensions of an array as factors.

    Args:
      *dim_mappings: for each dimension the name of its factor, or a ``CompoundFactor``; the first
        may be ``BATCHING``, for any number of leading dimensions, with a name behind it if there
        are several such groups.

    Raises:
      ValueError: if one of them is something else.

    Example:
      >>> from ricci.experimental.custom_partitioning import ArrayMapping, CompoundFactor
      >>> from ricci_parallel.partitioning import BATCHING
      >>> ArrayMapping(BATCHING, "rows", CompoundFactor("heads", "size"))
      ('…', 'rows', ('heads', 'size'))
    """

    __slots__ = ()

    def __new__(cls, *dim_mappings: Factor) -> "ArrayMapping":
        for i, factor in enumerate(dim_mappings):
            if isinstance(factor, CompoundFactor):
                continue
            if isinstance(factor, str) and factor.startswith(BATCHING):
                if i:
                    raise ValueError(
                        f"ArrayMapping{dim_mappings}: BATCHING ({BATCHING!r}, '...' in a rule's "
                        "text) is for leading dimensions, so that it can only be first."
                    )
                group = factor.removeprefix(BATCHING)
                if group and not group[0].isalnum():
                    raise ValueError(
                        "ArrayMapping: the name of a group of leading dimensions begins with a "
                        f"letter or a digit, got {factor!r}."
                    )
                _check_words("ArrayMapping", group)
            else:
                _check_name("ArrayMapping", factor)
        return super().__new__(cls, dim_mappings)

    @property
    def batching(self) -> str | None:
        """The group of leading dimensions, if it has one."""
        first = self[0] if self else None
        return first if isinstance(first, str) and first.startswith(BATCHING) else None

    def factors(self) -> Iterator[str]:
        """Yield the names of all factors, without the leading dimensions."""
        for factor in self:
            if isinstance(factor, CompoundFactor):
                yield from factor
            elif not factor.startswith(BATCHING):
                yield factor


def _check_name(what: str, factor: object) -> None:
    if not isinstance(factor, str):
        raise ValueError(
            f"{what}: a factor is a name, such as 'i', got {factor!r} of type "
            f"{type(factor).__name__}."
        )
    if not factor[:1].isalpha():
        raise ValueError(f"{what}: the name of a factor begins with a letter, got {factor!r}.")
    _check_words(what, factor)


def _check_words(what: str, name: str) -> None:
    if not all(character.isalnum() or character == "_" for character in name):
        raise ValueError(
            f"{what}: a factor's name is made of letters, digits and underscores, got {name!r}."
        )
