"""The entries of a key path, for the engine in Python."""

from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class SequenceKey:
    """The position of a child in a list or a tuple.

    >>> from ricci import tree_util
    >>> str(tree_util.SequenceKey(2))
    '[2]'
    """

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@final
@dataclass(frozen=True, slots=True)
class DictKey:
    """The key of a child in a mapping.

    >>> from ricci import tree_util
    >>> str(tree_util.DictKey("w"))
    "['w']"
    """

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@final
@dataclass(frozen=True, slots=True)
class GetAttrKey:
    """The name of an attribute: a field of a namedtuple or a dataclass.

    >>> from ricci import tree_util
    >>> str(tree_util.GetAttrKey("w"))
    '.w'
    """

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@final
@dataclass(frozen=True, slots=True)
class FlattenedIndexKey:
    """The position of a child of a container that was registered without keys.

    >>> from ricci import tree_util
    >>> str(tree_util.FlattenedIndexKey(0))
    '[<flat index 0>]'
    """

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"
