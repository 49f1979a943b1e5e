"""The node types of the Python engine: functions that flatten and unflatten containers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, Protocol, final

from ._errors import shorten


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


# A flattened container: its children (with their keys), and its static data.
type Parts = tuple[Sequence[Any], Any]
type KeyedParts = tuple[Sequence[tuple[Any, Any]], Any]


@dataclass(frozen=True, slots=True, eq=False)
class NodeType:
    """One kind of container, as a table of the functions that handle it.

    Attributes:
      flatten: maps a container to its children and its static data.
      flatten_with_keys: like ``flatten``, but each child is a pair (key, child).
      unflatten: maps the static data and the children to a container.
      label: the printed form, given the static data and the labels of the children.
      mismatch: describes how an object differs from the expected container, ``None`` if not; its
        arguments are the expected static data and number of children, and the object.
      node_data: the static data as ``PyTreeDef.node_data`` shows it (a dict's keys as a list).
      one_level_data: the static data as ``flatten_one_level`` shows it (a namedtuple's class).
    """

    type: type
    flatten: Callable[[Any], Parts]
    flatten_with_keys: Callable[[Any], KeyedParts]
    unflatten: Callable[[Any, tuple[Any, ...]], Any]
    label: Callable[[Any, list[str]], str]
    mismatch: Callable[[Any, int, object], str | None]
    node_data: Callable[[Any], Any] = lambda data: data
    one_level_data: Callable[[Any], Any] = lambda data: data


class NodeTypes(Protocol):
    """The part of a registry that structures use: the node type of each class."""

    def node_type(self, kind: type) -> NodeType | None:
        """The node type of a class, or ``None`` if its objects are leaves."""
        ...


def _wrong_type(expected: type, tree: object) -> str | None:
    if type(tree) is expected:
        return None
    return f"expected {_article(expected.__name__)}, found {_article(type(tree).__name__)}: " + (
        shorten(tree)
    )


def _article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _tuple_label(_: object, children: list[str]) -> str:
    return f"({children[0]},)" if len(children) == 1 else f"({', '.join(children)})"


def _sequence(kind: type, label: Callable[[Any, list[str]], str]) -> NodeType:
    def mismatch(_: object, arity: int, tree: Any) -> str | None:
        if type(tree) is kind and len(tree) != arity:
            return f"expected a {kind.__name__} of length {arity}, found one of length {len(tree)}"
        return _wrong_type(kind, tree)

    return NodeType(
        type=kind,
        flatten=lambda tree: (tree, None),
        flatten_with_keys=lambda tree: (
            tuple((SequenceKey(i), child) for i, child in enumerate(tree)),
            None,
        ),
        unflatten=lambda _, children: kind(children),
        label=label,
        mismatch=mismatch,
    )


def _sorted_keys(tree: dict[Any, Any]) -> tuple[Any, ...]:
    try:
        # Sorted, so that equal dicts have equal structures, whatever the order of insertion.
        return tuple(sorted(tree))
    except TypeError as error:
        raise ValueError(
            f"the keys of a dict in a tree must be sortable: {error}; "
            f"found keys {shorten(list(tree))}. Use keys of one type, or an OrderedDict."
        ) from error


def _flatten_dict(tree: dict[Any, Any]) -> Parts:
    keys = _sorted_keys(tree)
    return tuple(tree[key] for key in keys), keys


def _flatten_dict_with_keys(tree: dict[Any, Any]) -> KeyedParts:
    keys = _sorted_keys(tree)
    return tuple((DictKey(key), tree[key]) for key in keys), keys


def _dict_mismatch(keys: tuple[Any, ...], _: int, tree: object) -> str | None:
    if type(tree) is dict and (len(tree) != len(keys) or any(key not in tree for key in keys)):
        return f"expected a dict with keys {shorten(list(keys))}, found keys {shorten(list(tree))}"
    return _wrong_type(dict, tree)


def _none_mismatch(_: object, __: int, tree: object) -> str | None:
    if tree is None:
        return None
    return (
        f"expected None, found {shorten(tree)}. None is an empty container, not a leaf: "
        "pass is_leaf=lambda x: x is None to make it one"
    )


NONE = NodeType(
    type=type(None),
    flatten=lambda _: ((), None),
    flatten_with_keys=lambda _: ((), None),
    unflatten=lambda _, __: None,
    label=lambda _, __: "None",
    mismatch=_none_mismatch,
)
TUPLE = _sequence(tuple, _tuple_label)
LIST = _sequence(list, lambda _, children: f"[{', '.join(children)}]")
DICT = NodeType(
    type=dict,
    flatten=_flatten_dict,
    flatten_with_keys=_flatten_dict_with_keys,
    unflatten=lambda keys, children: dict(zip(keys, children, strict=True)),
    label=lambda keys, children: (
        "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(keys, children, strict=True)) + "}"
    ),
    mismatch=_dict_mismatch,
    node_data=list,
)


# A namedtuple class needs no registration: its node type is made when one is first seen.
@lru_cache(maxsize=1024)
def namedtuple_node(kind: type) -> NodeType:
    """The node type of a namedtuple class: a subclass of tuple that has ``_fields``."""
    fields: tuple[str, ...] = kind._fields  # pyright: ignore[reportAttributeAccessIssue]
    return NodeType(
        type=kind,
        flatten=lambda tree: (list(tree), None),
        flatten_with_keys=lambda tree: (
            [(GetAttrKey(f), c) for f, c in zip(fields, tree, strict=True)],
            None,
        ),
        unflatten=lambda _, children: kind(*children),
        label=lambda _, children: (
            f"CustomNode(namedtuple[{kind.__name__}], [{', '.join(children)}])"
        ),
        mismatch=lambda _, __, tree: _wrong_type(kind, tree),
        one_level_data=lambda _: kind,
    )


def _checked_parts(kind: type, role: str, result: object) -> Parts:
    if not isinstance(result, tuple) or len(result) != 2:
        raise ValueError(
            f"the {role} function of {kind.__name__} must return a pair (children, aux_data), "
            f"found {shorten(result)}"
        )
    children, data = result
    if not isinstance(children, Iterable):
        raise ValueError(
            f"the {role} function of {kind.__name__} must return a pair (children, aux_data) whose "
            f"children can be iterated over, found {shorten(children)}"
        )
    # Children may be an iterator, which can be read once only.
    return list(children), data


def _checked_pair(kind: type, entry: object) -> tuple[Any, Any]:
    if not isinstance(entry, tuple) or len(entry) != 2:
        raise ValueError(
            f"the flatten-with-keys function of {kind.__name__} must give children as pairs "
            f"(key, child), found {shorten(entry)}"
        )
    return entry


def _label_with_data(kind: type) -> Callable[[Any, list[str]], str]:
    return lambda data, children: f"CustomNode({kind.__name__}[{data}], [{', '.join(children)}])"


def custom_node(
    kind: type,
    to_iterable: Callable[[Any], tuple[Iterable[Any], Any]],
    from_iterable: Callable[[Any, Any], Any],
    to_iterable_with_keys: Callable[[Any], tuple[Iterable[Any], Any]] | None,
) -> NodeType:
    """The node type of a class that a user registered with functions."""

    def flatten(tree: object) -> Parts:
        return _checked_parts(kind, "flatten", to_iterable(tree))

    def flatten_with_keys(tree: object) -> KeyedParts:
        if to_iterable_with_keys is None:
            children, data = flatten(tree)
            return [(FlattenedIndexKey(i), child) for i, child in enumerate(children)], data
        children, data = _checked_parts(kind, "flatten-with-keys", to_iterable_with_keys(tree))
        return [_checked_pair(kind, entry) for entry in children], data

    def mismatch(data: object, arity: int, tree: object) -> str | None:
        if type(tree) is not kind:
            return _wrong_type(kind, tree)
        children, found_data = flatten(tree)
        return _data_mismatch(kind, data, found_data) or (
            f"expected {arity} children of {kind.__name__}, found {len(children)}"
            if len(children) != arity
            else None
        )

    return NodeType(
        type=kind,
        flatten=flatten,
        flatten_with_keys=flatten_with_keys,
        unflatten=from_iterable,
        label=_label_with_data(kind),
        mismatch=mismatch,
    )


def _data_mismatch(kind: type, expected: object, tree: object) -> str | None:
    if expected != tree:
        return (
            f"expected a {kind.__name__} with static data {shorten(expected)}, "
            f"found one with {shorten(tree)}"
        )
    return None


def dataclass_node(
    kind: type, data_fields: tuple[str, ...], meta_fields: tuple[str, ...]
) -> NodeType:
    """The node type of a class whose children and static data are attributes of these names."""
    data_keys = tuple(map(GetAttrKey, data_fields))
    children_of = [attrgetter(name) for name in data_fields]
    meta_of = [attrgetter(name) for name in meta_fields]
    names = data_fields + meta_fields

    def meta(tree: object) -> tuple[Any, ...]:
        return tuple(get(tree) for get in meta_of)

    def flatten(tree: object) -> Parts:
        return [get(tree) for get in children_of], meta(tree)

    def flatten_with_keys(tree: object) -> KeyedParts:
        children, data = flatten(tree)
        return list(zip(data_keys, children, strict=True)), data

    def mismatch(data: object, _: int, tree: object) -> str | None:
        if type(tree) is not kind:
            return _wrong_type(kind, tree)
        return _data_mismatch(kind, data, meta(tree))

    return NodeType(
        type=kind,
        flatten=flatten,
        flatten_with_keys=flatten_with_keys,
        unflatten=lambda data, children: kind(**dict(zip(names, (*children, *data), strict=True))),
        label=_label_with_data(kind),
        mismatch=mismatch,
    )
