"""Registration of pytree node classes for serialization."""

from collections.abc import Callable, Sequence
from typing import Any

from ricci_pytree import register_pytree_node, registered_nodes
from ricci_xla.exported import named_tuple_form, node_forms
from ricci_xla.files import NodeForm

__all__ = ["register_namedtuple_serialization", "register_pytree_node_serialization"]


def register_pytree_node_serialization[T](
    nodetype: type[T],
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type[T]:
    """Register a pytree node class for the serialization of exports.

    The process that writes and the one that reads both register the class, under the same name.

    Args:
      nodetype: the class, which is registered as a pytree node.
      serialized_name: the name of the class in files.
      serialize_auxdata: writes the node's static data.
      deserialize_auxdata: reads it.
      from_children: builds a node from static data and children, for a class that is not yet a
        pytree node.

    Returns:
      The class.

    Raises:
      ValueError: if the class is not a pytree node, or the class or the name is registered already.

    Example:
      >>> from ricci import export, tree_util
      >>> @tree_util.register_pytree_node_class
      ... class Scale:
      ...     def __init__(self, factor, unit):
      ...         self.factor, self.unit = factor, unit
      ...     def tree_flatten(self):
      ...         return (self.factor,), self.unit
      ...     @classmethod
      ...     def tree_unflatten(cls, unit, children):
      ...         return cls(*children, unit)
      >>> _ = export.register_pytree_node_serialization(
      ...     Scale,
      ...     serialized_name="example.Scale",
      ...     serialize_auxdata=str.encode,
      ...     deserialize_auxdata=bytes.decode,
      ... )
    """
    # ``from_children`` is enough to read a file, but flattening would need the reverse function.
    # The class is registered so that reading works and flattening raises an error with advice.
    if nodetype not in registered_nodes:
        if from_children is None:
            raise ValueError(
                f"{nodetype.__qualname__} is not a pytree node, so that no export can have one. "
                "Register it first with tree_util.register_pytree_node."
            )
        register_pytree_node(nodetype, _refuse_flattening(nodetype), from_children)
    write = lambda data: bytes(serialize_auxdata(data))
    _add(NodeForm(nodetype, serialized_name, write, deserialize_auxdata))
    return nodetype


def register_namedtuple_serialization[T](nodetype: type[T], *, serialized_name: str) -> type[T]:
    """Register a class of named tuples for the serialization of exports.

    Args:
      nodetype: the class of named tuples.
      serialized_name: the name of the class in files.

    Returns:
      The class.

    Raises:
      ValueError: if it is not a named tuple, or the class or the name is registered already.

    Example:
      >>> from typing import NamedTuple
      >>> from ricci import export
      >>> class Point(NamedTuple):
      ...     x: float
      ...     y: float
      >>> _ = export.register_namedtuple_serialization(Point, serialized_name="example.Point")
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(
            f"{nodetype!r} is not a class of named tuples, which register_namedtuple_serialization "
            "takes. Use register_pytree_node_serialization for other classes."
        )
    _add(named_tuple_form(nodetype, serialized_name))
    return nodetype


def _add(form: NodeForm) -> None:
    entry = node_forms.of_kind(form.kind) or node_forms.of_name(form.name)
    if entry is not None:
        raise ValueError(
            f"{form.kind.__qualname__} cannot be registered as {form.name!r}, since "
            f"{entry.kind.__module__}.{entry.kind.__qualname__} is registered as {entry.name!r}."
        )
    node_forms.add(form)


def _refuse_flattening(nodetype: type) -> Callable[[Any], Any]:
    def refuse(node: object) -> Any:
        raise TypeError(
            f"{nodetype.__qualname__} was registered by from_children alone, so that its nodes can "
            "be built but not flattened. Register it with tree_util.register_pytree_node."
        )

    return refuse
