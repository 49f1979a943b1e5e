"""Array attributes that need values: a tracer delegates them to its concrete array, if any."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir._errors import ConcretizationTypeError
from ricci_ir.types._aval import get_aval

from ._backend import backend
from ._trace import Tracer, check_derivative

__all__ = ["values_of"]

_METHODS = (
    *("__dlpack__", "addressable_data", "delete", "devices", "is_deleted", "item"),
    *("on_device_size_in_bytes", "tobytes", "tolist", "unsafe_buffer_pointer"),
)
# Those that lose a derivative. So does ``item``, which is allowed since programs branch on it.
_NUMBERS = ("__dlpack__", "tobytes", "tolist")
_PROPERTIES = (
    *("addressable_shards", "committed", "global_shards", "is_fully_addressable"),
    *("is_fully_replicated", "traceback"),
)


def values_of(tracer: Tracer, asked: str) -> Any:
    """The concrete array of a tracer.

    Args:
      asked: the attribute that was accessed, for the message.

    Raises:
      ConcretizationTypeError: if the tracer has no concrete value, or a tangent that would be
        lost.
    """
    if asked in _NUMBERS:
        check_derivative(tracer, f"x.{asked}")
    value = tracer.concrete()
    if value is None:
        raise ConcretizationTypeError(tracer, f"Only arrays have `x.{asked}`.")
    if hasattr(type(value), "aval"):
        return value
    aval: Any = get_aval(value)
    return backend().array(np.asarray(value, aval.dtype), aval)


def _method(name: str) -> Callable[..., Any]:
    def method(self: Tracer, *args: object, **options: object) -> Any:
        return getattr(values_of(self, name), name)(*args, **options)

    method.__name__ = name
    method.__doc__ = f"The ``{name}`` of the array behind the tracer, if its value is known."
    return method


def _property(name: str) -> property:
    return property(
        lambda self: getattr(values_of(self, name), name),
        doc=f"The ``{name}`` of the array behind the tracer, if its value is known.",
    )


for _name in _METHODS:
    setattr(Tracer, _name, _method(_name))
for _name in _PROPERTIES:
    setattr(Tracer, _name, _property(_name))
