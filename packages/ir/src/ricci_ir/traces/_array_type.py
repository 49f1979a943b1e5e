"""The class ``Array``, and the methods that tracers and every backend's arrays share.

The NumPy API defines the methods, and a backend registers its array class. The tables of this
module combine the two, in whichever order they are imported.
"""

from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any

from ricci_ir._function_copies import as_method
from ricci_ir._traceback_filtering import api_boundary, is_boundary
from ricci_pytree import dispatch_registry

__all__ = ["Array", "LateMember", "define_array_methods", "describe_arrays", "dispatch_by_array"]
__all__ += ["register_array_type"]

_types: list[type] = []
_methods: dict[str, Any] = {}


class _ArrayMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, tuple(_types))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, tuple(_types)) or subclass is cls


class Array(metaclass=_ArrayMeta):
    """The type of arrays: ``isinstance(x, Array)`` holds for arrays and for traced arrays.

    Arrays are immutable: ``x.at[index].set(value)`` gives an updated copy. The class cannot be
    instantiated; arrays are made by functions such as ``numpy.asarray``.

    Raises:
      TypeError: if it is called.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> x = jnp.array([1.0, 2.0, 3.0])
      >>> isinstance(x, ricci.Array), x.shape, x.dtype
      (True, (3,), dtype('float32'))
      >>> x.at[0].set(10.0).tolist(), x.tolist()
      ([10.0, 2.0, 3.0], [1.0, 2.0, 3.0])

    Notes:
      NumPy arrays are not instances of ``Array``, although all functions accept them. Annotate
      arguments of functions with ``ricci.typing.ArrayLike``.
    """

    def __new__(cls, *args: Any, **kwargs: Any):
        raise TypeError("Array cannot be instantiated; use numpy.array or numpy.asarray.")


def register_array_type(cls: type) -> None:
    """Make a backend's array class an ``Array``, with all the shared methods."""
    if cls not in _types:
        _types.append(cls)
        if cls.__doc__ is None:  # a runtime's own class: what ``x?`` shows in a notebook
            cls.__doc__ = Array.__doc__
        for name, method in _methods.items():
            setattr(cls, name, method)


def dispatch_by_array[T, K: Hashable](
    cls: type[T], split: Callable[[T], tuple[Array, K]], join: Callable[[K, Array], T]
) -> None:
    """Let backends dispatch calls with values of a class by the type of the array that each holds.

    Args:
      cls: the class of the values. An executable takes the array in place of a value.
      split: maps a value to its array and to what tells its type apart from those of other values.
      join: the inverse.
    """

    def parts(value: T) -> tuple[tuple[Array], K]:
        array, kind = split(value)
        return (array,), kind

    dispatch_registry.register_node(cls, parts, lambda kind, arrays: join(kind, *arrays))


def define_array_methods(methods: dict[str, Any]) -> None:
    """Give every array class these methods and properties, now and later."""
    methods = {
        name: as_method(method if is_boundary(method) else api_boundary(method), name, Array)
        if type(method) is FunctionType
        else method
        for name, method in methods.items()
    }
    _methods.update(methods)
    describe_arrays(methods)
    for cls in _types:
        for name, method in methods.items():
            setattr(cls, name, method)


class LateMember:
    """A method or property of arrays whose module is imported when it is first looked up.

    Every array class has it until then, and the method itself afterwards.

    Args:
      name: the member's name.
      load: imports it.

    Example:
      >>> from ricci_ir import LateMember
      >>> half = LateMember("half", lambda: lambda array: array / 2)
      >>> half.load()(3.0)
      1.5
    """

    __slots__ = ("load", "name")

    def __init__(self, name: str, load: Callable[[], object]):
        self.name, self.load = name, load

    def __get__(self, instance: object, owner: type) -> object:
        define_array_methods({self.name: self.load()})
        return getattr(owner if instance is None else instance, self.name)


# Names by which code recognises an array's class, which ``Array`` itself must not have.
_OF_INSTANCES = frozenset({"aval", "weak_type", "__hash__", "__reduce__"})


def describe_arrays(members: dict[str, Any]) -> None:
    """Show methods and attributes of arrays on the class ``Array`` too.

    Tools for documentation and types look them up there, and libraries patch or wrap them.
    """
    for name, member in members.items():
        special = name.startswith("__") and name.endswith("__")
        if name not in _OF_INSTANCES and (special or not name.startswith("_")):
            setattr(Array, name, member)
