"""Partition specs in the notation of the ``sdy`` dialect."""

from collections.abc import Hashable

from ricci_stablehlo import string

from ._sharding_types import NamedSharding


def shardy_text(sharding: NamedSharding, rank: int) -> str:
    """The dimension shardings of an array in Shardy's syntax, which follow the mesh's symbol."""
    spec = sharding.spec
    parts = list(spec.partitions) + [None] * (rank - len(spec))
    dims = ", ".join(f"{{{', '.join(map(_quoted, _axis_names(part)))}}}" for part in parts)
    terms = [name for name in sharding.mesh.axis_names if name in spec.unreduced]
    sums = f", unreduced={{{', '.join(map(_quoted, terms))}}}" if terms else ""
    return f"[{dims}]{sums}"


def _axis_names(part: object) -> tuple[Hashable, ...]:
    if part is None:
        return ()
    return part if isinstance(part, tuple) else (part,)


def _quoted(name: Hashable) -> str:
    return string(str(name))
