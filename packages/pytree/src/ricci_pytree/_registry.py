"""Registering classes as containers, in the registries of the active engine."""

import inspect
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import methodcaller
from typing import Any, NamedTuple

from ._engine import DictKey, GetAttrKey, PyTreeRegistry

# Ricci's registries. jaxlib's global one is left to JAX, which registers the same types there.
default_registry: PyTreeRegistry = PyTreeRegistry()
none_leaf_registry: PyTreeRegistry = PyTreeRegistry(enable_none=False)
# For calls of executables: values that hold an array, such as random keys, are containers of it.
dispatch_registry: PyTreeRegistry = PyTreeRegistry()

# A pickled structure refers to its registry by these names.
default_registry.__module__ = none_leaf_registry.__module__ = __name__
dispatch_registry.__module__ = __name__
default_registry.__name__ = "default_registry"
none_leaf_registry.__name__ = "none_leaf_registry"
dispatch_registry.__name__ = "dispatch_registry"

_registries = (default_registry, none_leaf_registry, dispatch_registry)


class RegisteredNode(NamedTuple):
    """The functions that flatten and unflatten objects of a class.

    Attributes:
      to_iter: maps an object to its children and its static data.
      from_iter: maps the static data and the children to an object.
      with_keys: like ``to_iter``, but each child is a pair (key, child); if there is one.
    """

    to_iter: Callable[[Any], tuple[Iterable[Any], Any]]
    from_iter: Callable[[Any, Any], Any]
    with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None


def _one_level(tree: object) -> tuple[Iterable[Any], Any]:
    level = default_registry.flatten_one_level(tree)
    if level is None:
        raise ValueError(f"{tree!r} is a leaf, not a container")
    return level


# All container classes, for callers that look one up or test for membership.
registered_nodes: dict[type, RegisteredNode] = {
    tuple: RegisteredNode(lambda x: (x, None), lambda _, children: tuple(children)),
    list: RegisteredNode(lambda x: (x, None), lambda _, children: list(children)),
    dict: RegisteredNode(_one_level, lambda keys, children: dict(zip(keys, children, strict=True))),
    type(None): RegisteredNode(lambda _: ((), None), lambda _, children: None),
    OrderedDict: RegisteredNode(
        _one_level, lambda keys, children: OrderedDict(zip(keys, children, strict=True))
    ),
    defaultdict: RegisteredNode(
        _one_level, lambda data, children: defaultdict(data[0], zip(data[1], children, strict=True))
    ),
}


def _require_class(function: str, cls: object) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"{function} registers a class; found {cls!r}")


def _require_callable(function: str, **functions: object) -> None:
    for argument, value in functions.items():
        if not callable(value):
            raise TypeError(f"{function}: {argument} must be a function; found {value!r}")


def register_pytree_node[T](
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[tuple[Any, Any]], Hashable]] | None = None,
) -> None:
    """Register a class as a container.

    Args:
      nodetype: the class. Its subclasses are not registered.
      flatten_func: maps an object to a pair of its children and its static data.
      unflatten_func: maps the static data and a tuple of children to an object.
      flatten_with_keys_func: like ``flatten_func``, but each child is a pair (key, child).

    Raises:
      ValueError: if the class is registered already.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> class Interval:
      ...     def __init__(self, low, high):
      ...         self.low, self.high = low, high
      >>> ricci.tree_util.register_pytree_node(
      ...     Interval,
      ...     lambda interval: ((interval.low, interval.high), None),
      ...     lambda _, children: Interval(*children),
      ... )
      >>> width = ricci.jit(lambda interval: interval.high - interval.low)
      >>> float(width(Interval(jnp.array(1.0), jnp.array(3.5))))
      2.5

    Notes:
      ``unflatten_func`` is called with tracers and with any objects, such as ``None``: it should
      not convert or check its children.

    See also:
      ``register_dataclass``, which needs no functions.

    Source: ``jax.tree_util.register_pytree_node``.
    """
    _require_class("register_pytree_node", nodetype)
    _require_callable(
        "register_pytree_node", flatten_func=flatten_func, unflatten_func=unflatten_func
    )
    if flatten_with_keys_func is not None:
        _require_callable("register_pytree_node", flatten_with_keys_func=flatten_with_keys_func)
    for registry in _registries:
        registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)
    registered_nodes[nodetype] = RegisteredNode(
        flatten_func, unflatten_func, flatten_with_keys_func
    )


def register_pytree_node_class[C: type](cls: C) -> C:
    """Register a class as a container by its methods ``tree_flatten`` and ``tree_unflatten``.

    ``tree_flatten(self)`` returns the children and the static data; the classmethod
    ``tree_unflatten(cls, static_data, children)`` builds an object.

    Args:
      cls: the class.

    Returns:
      The class, so that it can be used as a decorator.

    Raises:
      ValueError: if the class is registered already.

    Example:
      >>> from ricci import tree_util
      >>> @tree_util.register_pytree_node_class
      ... class Scaled:
      ...     def __init__(self, x, scale):
      ...         self.x, self.scale = x, scale
      ...     def tree_flatten(self):
      ...         return (self.x,), self.scale
      ...     @classmethod
      ...     def tree_unflatten(cls, scale, children):
      ...         return cls(*children, scale)
      >>> tree_util.tree_structure(Scaled(1.0, 10))
      PyTreeDef(CustomNode(Scaled[10], [*]))

    Source: ``jax.tree_util.register_pytree_node_class``.
    """
    register_pytree_node(cls, methodcaller("tree_flatten"), cls.tree_unflatten)
    return cls


def _without_keys(flatten_with_keys: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def flatten(tree: object) -> tuple[list[Any], Any]:
        keyed_children, data = flatten_with_keys(tree)
        return [child for _, child in keyed_children], data

    return flatten


def register_pytree_with_keys[T](
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Register a class as a container whose children have keys.

    Args:
      nodetype: the class. Its subclasses are not registered.
      flatten_with_keys: maps an object to its pairs (key, child) and its static data.
      unflatten_func: maps the static data and a tuple of children to an object.
      flatten_func: maps an object to its children without keys and its static data; by default
        ``flatten_with_keys`` is called and its keys are dropped.

    Raises:
      ValueError: if the class is registered already.

    Source: ``jax.tree_util.register_pytree_with_keys``.

    >>> from ricci import tree_util
    >>> class Box:
    ...     def __init__(self, x):
    ...         self.x = x
    >>> tree_util.register_pytree_with_keys(
    ...     Box,
    ...     lambda b: (((tree_util.GetAttrKey("x"), b.x),), None),
    ...     lambda _, children: Box(*children),
    ... )
    >>> [(tree_util.keystr(path), leaf) for path, leaf in tree_util.tree_leaves_with_path([Box(5)])]
    [('[0].x', 5)]
    """
    if flatten_func is None:
        _require_callable("register_pytree_with_keys", flatten_with_keys=flatten_with_keys)
        flatten_func = _without_keys(flatten_with_keys)
    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class[C: type](cls: C) -> C:
    """Register a class as a container by ``tree_flatten_with_keys`` and ``tree_unflatten``.

    If the class has a method ``tree_flatten``, calls that need no keys use it.

    Args:
      cls: the class.

    Returns:
      The class, so that it can be used as a decorator.

    Raises:
      ValueError: if the class is registered already.

    Example:
      >>> from ricci import tree_util
      >>> @tree_util.register_pytree_with_keys_class
      ... class Cell:
      ...     def __init__(self, x):
      ...         self.x = x
      ...     def tree_flatten_with_keys(self):
      ...         return ((tree_util.GetAttrKey("x"), self.x),), None
      ...     @classmethod
      ...     def tree_unflatten(cls, _, children):
      ...         return cls(*children)
      >>> tree_util.tree_leaves_with_path(Cell(5))
      [((GetAttrKey(name='x'),), 5)]

    Source: ``jax.tree_util.register_pytree_with_keys_class``.
    """
    flatten = methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(
        cls, methodcaller("tree_flatten_with_keys"), cls.tree_unflatten, flatten
    )
    return cls


def register_static[C: type](cls: C) -> C:
    """Register a class as a container without children: its objects are static data.

    The objects must be comparable and hashable. Two structures are equal only if the objects that
    they hold are equal.

    Args:
      cls: the class.

    Returns:
      The class, so that it can be used as a decorator.

    Raises:
      ValueError: if the class is registered already.

    Example:
      >>> from ricci import tree_util
      >>> @tree_util.register_static
      ... class Mode(str):
      ...     pass
      >>> tree_util.tree_flatten([Mode("train"), 1])
      ([1], PyTreeDef([CustomNode(Mode[train], []), *]))

    Source: ``jax.tree_util.register_static``.
    """
    register_pytree_with_keys(cls, lambda tree: ((), tree), lambda tree, _: tree)
    return cls


def register_dataclass[C: type](
    nodetype: C,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> C:
    """Register a class with named attributes as a container.

    Args:
      nodetype: a dataclass, or a class that takes the fields by keyword and keeps them as
        attributes.
      data_fields: names of the fields that are children. If both lists are left out, they are
        read from the dataclass: a field is static data if its metadata has ``static=True``.
      meta_fields: names of the fields that are static data.
      drop_fields: names of the fields that are left out of the tree; unflattened objects have
        their default values.

    Returns:
      ``nodetype``, so that it can be used as a decorator.

    Raises:
      TypeError: if only one of the two lists is given, or neither for a class that is not a
        dataclass.
      ValueError: if the lists overlap or do not cover the fields of the dataclass, or if the
        class is registered already.

    Example:
      A module whose size is static: it is part of the structure, and executables are compiled for
      each.

      >>> import dataclasses
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> @ricci.tree_util.register_dataclass
      ... @dataclasses.dataclass
      ... class Blur:
      ...     weight: jnp.ndarray
      ...     width: int = dataclasses.field(metadata={"static": True})
      ...     def __call__(self, x):
      ...         return self.weight * jnp.convolve(x, jnp.ones(self.width), "valid")
      >>> blur = Blur(jnp.array(0.5), width=2)
      >>> apply = lambda blur, x: blur(x)
      >>> ricci.jit(apply)(blur, jnp.array([1.0, 3.0, 5.0])).tolist()
      [2.0, 4.0]
      >>> gradient = ricci.grad(lambda blur, x: blur(x).sum())(blur, jnp.array([1.0, 3.0, 5.0]))
      >>> float(gradient.weight), gradient.width
      (12.0, 2)

    Notes:
      Static fields are hashed and compared: give them numbers, strings and tuples, not arrays.

      Objects are also made with tracers, and with whatever ``tree.map`` returns, for their fields:
      ``__post_init__`` must accept these. If the dataclass has an ``__init__`` of its own that does
      not take the fields by keyword, the fields are set without a call of it.

    See also:
      ``register_pytree_node``, for other classes; ``tree.static``, for such a field.

    Source: ``jax.tree_util.register_dataclass``.
    """
    _require_class("register_dataclass", nodetype)
    if (data_fields is None) != (meta_fields is None):
        provided, missing = (
            ("meta_fields", "data_fields")
            if data_fields is None
            else ("data_fields", "meta_fields")
        )
        raise TypeError(
            f"register_dataclass({nodetype.__name__}): {provided} is given without {missing}; "
            "give both, or neither to use the fields of the dataclass"
        )
    if data_fields is None or meta_fields is None:
        data_fields, meta_fields = _declared_fields(nodetype, drop_fields)
    _check_fields(nodetype, tuple(data_fields), tuple(meta_fields), drop_fields)
    names = (*data_fields, *meta_fields)
    if not _init_accepts(nodetype, names):
        _register_without_init(nodetype, tuple(data_fields), tuple(meta_fields))
        return nodetype
    for registry in _registries:
        registry.register_dataclass_node(nodetype, list(data_fields), list(meta_fields))
    registered_nodes[nodetype] = RegisteredNode(
        _one_level,
        lambda data, children: nodetype(**dict(zip(names, (*children, *data), strict=True))),
    )
    return nodetype


def _init_accepts(nodetype: type, names: tuple[str, ...]) -> bool:
    """Whether a class takes its fields as keywords; a dataclass's own __init__ may not."""
    code = getattr(nodetype.__init__, "__code__", None)
    # ``dataclasses`` compiles the ``__init__`` that it generates from a string, so that it has no
    # file.
    is_generated = code is None or code.co_filename == "<string>"
    if is_generated or not hasattr(nodetype, "__dataclass_fields__"):
        return True
    try:
        inspect.signature(nodetype).bind(**dict.fromkeys(names))
    except TypeError:
        return False
    return True


def _register_without_init(
    nodetype: type, data_fields: tuple[str, ...], meta_fields: tuple[str, ...]
) -> None:
    """Register a dataclass whose objects are made by setting their fields."""
    import dataclasses  # noqa: PLC0415 - lazy: it takes a millisecond

    # Fields that are not registered get their defaults, as by a generated ``__init__``.
    defaults = {
        field.name: field.default
        for field in dataclasses.fields(nodetype)
        if field.default is not dataclasses.MISSING
    }

    def flatten_with_keys(x: object) -> tuple[list[Any], tuple[Any, ...]]:
        children = [(GetAttrKey(name), getattr(x, name)) for name in data_fields]
        return children, tuple(getattr(x, name) for name in meta_fields)

    def unflatten(data: tuple[Any, ...], children: Iterable[Any]) -> object:
        # Neither ``__init__``, which takes other arguments, nor a frozen class's ``__setattr__``,
        # which refuses, is called.
        x = object.__new__(nodetype)
        values = zip((*data_fields, *meta_fields), (*children, *data), strict=True)
        for name, value in {**defaults, **dict(values)}.items():
            object.__setattr__(x, name, value)
        return x

    register_pytree_with_keys(nodetype, flatten_with_keys, unflatten)


def _declared_fields(nodetype: type, drop_fields: Sequence[str]) -> tuple[list[str], list[str]]:
    if not hasattr(nodetype, "__dataclass_fields__"):
        raise TypeError(
            f"register_dataclass: {nodetype.__name__} is not a dataclass, "
            "so data_fields and meta_fields must be given"
        )
    import dataclasses  # noqa: PLC0415 - lazy: it takes a millisecond

    data_fields: list[str] = []
    meta_fields: list[str] = []
    for field in dataclasses.fields(nodetype):
        if field.name not in drop_fields:
            (meta_fields if field.metadata.get("static", False) else data_fields).append(field.name)
    return data_fields, meta_fields


def _check_fields(
    nodetype: type,
    data_fields: tuple[str, ...],
    meta_fields: tuple[str, ...],
    drop_fields: Sequence[str],
) -> None:
    call = f"register_dataclass({nodetype.__name__})"
    overlap = sorted(set(data_fields) & set(meta_fields))
    if overlap:
        raise ValueError(f"{call}: fields are both in data_fields and in meta_fields: {overlap}")
    if not hasattr(nodetype, "__dataclass_fields__"):
        return
    import dataclasses  # noqa: PLC0415 - lazy: it takes a millisecond

    named = {*data_fields, *meta_fields}
    expected = {f.name for f in dataclasses.fields(nodetype) if f.init} - set(drop_fields)
    if expected - named:
        raise ValueError(
            f"{call}: fields are missing: {sorted(expected - named)}; "
            "put each in data_fields, meta_fields or drop_fields"
        )
    if named - expected:
        raise ValueError(
            f"{call}: unexpected fields: {sorted(named - expected)}; fields that __init__ accepts "
            f"and drop_fields does not name: {sorted(expected)}"
        )


def _keyed(tree: dict[Any, Any], keys: Iterable[Any]) -> list[tuple[Any, Any]]:
    return [(DictKey(key), tree[key]) for key in keys]


register_pytree_node(
    OrderedDict,
    lambda tree: (list(tree.values()), tuple(tree)),
    lambda keys, values: OrderedDict(zip(keys, values, strict=True)),
    lambda tree: (_keyed(tree, tree), tuple(tree)),
)


def _defaultdict_data(tree: defaultdict[Any, Any]) -> tuple[Any, tuple[Any, ...]]:
    return tree.default_factory, tuple(sorted(tree))


def _flatten_defaultdict(tree: defaultdict[Any, Any]) -> tuple[list[Any], Any]:
    data = _defaultdict_data(tree)
    return [tree[key] for key in data[1]], data


def _flatten_defaultdict_with_keys(tree: defaultdict[Any, Any]) -> tuple[list[Any], Any]:
    data = _defaultdict_data(tree)
    return _keyed(tree, data[1]), data


register_pytree_node(
    defaultdict,
    _flatten_defaultdict,
    lambda data, values: defaultdict(data[0], zip(data[1], values, strict=True)),
    _flatten_defaultdict_with_keys,
)
