"""The protocol by which the front end meets a runtime."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from ricci_ir.types._aval import get_aval
from ricci_ir.types._dtypes import float0

from ._primitive import Primitive
from ._trace import context, eval_trace

__all__ = [
    "as_array",
    "Backend",
    "backend",
    "has_backend",
    "OneStep",
    "set_backend",
    "use_backend",
]


class OneStep(Protocol):
    """What a backend sees of a function that is applied as one step: see ``Composite``."""

    name: str

    def apply(self, args: tuple, settings: dict[str, Any]) -> Any:
        """Apply it in the current trace."""
        ...

    def step(self, args: tuple, settings: dict[str, Any]) -> Any:
        """Its program for arguments of these types."""
        ...


class Backend(Protocol):
    """What runs programs: ``ricci_xla`` on devices, ``ricci_reference`` with NumPy."""

    name: str

    def evaluate(self, primitive: Primitive, args: tuple, params: dict[str, Any]) -> Any:
        """Apply one primitive to concrete values, now."""
        ...

    def operation(self, primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
        """A function that applies a primitive with these parameters to concrete values, now."""
        ...

    def dispatcher(self, composite: OneStep) -> Callable[..., Any] | None:
        """A function that applies a composite outside of any trace, if there is a quicker way.

        It takes the settings as a tuple of pairs, then the arrays. It must leave to
        ``composite.apply`` the calls with tracers among these, and all where ``jit`` is disabled.
        """
        ...

    def array(self, value: Any, aval: Any) -> Any:
        """An array of this backend holding a NumPy array's values, with the given type."""
        ...

    def from_dlpack(self, x: Any, device: Any, copy: bool | None) -> Any:
        """An array of what another library holds, by the DLPack protocol."""
        ...

    def devices(self) -> tuple[Any, ...]:
        """The devices that arrays can be on, the default one first; ``None`` stands for it."""
        ...

    def clear(self) -> None:
        """Forget the programs that are kept between calls."""
        ...


class _Missing:
    name = "none"

    def evaluate(self, primitive, args, params):
        raise RuntimeError(
            f"cannot compute {primitive.name!r}: no backend is installed to run it.\n"
            "Install and import ricci_xla (compiled) or ricci_reference (NumPy), or trace the "
            "function with make_jaxpr instead of calling it."
        )

    def operation(self, primitive, params):
        return lambda *args: self.evaluate(primitive, args, params)

    def dispatcher(self, composite):
        return None

    def array(self, value, aval):
        return self.evaluate(_array_p, (), {})

    def from_dlpack(self, x, device, copy):
        return self.evaluate(_array_p, (), {})

    def devices(self):
        return ()

    def clear(self):
        return None


_array_p = Primitive("array")
_backend: Backend = _Missing()
eval_trace.process = _backend.evaluate


def backend() -> Backend:
    """The backend that evaluates primitives outside of any trace."""
    return _backend


def set_backend(new: Backend) -> Backend:
    """Make ``new`` the backend; returns the one it replaces."""
    global _backend
    old, _backend = _backend, new
    eval_trace.process = new.evaluate
    return old


def has_backend() -> bool:
    """Whether any backend has been set."""
    return not isinstance(_backend, _Missing)


@contextmanager
def use_backend(new: Backend) -> Iterator[None]:
    """Evaluate with another backend inside a ``with`` block."""
    old = set_backend(new)
    try:
        yield
    finally:
        set_backend(old)


def as_array(x: Any) -> Any:
    """``x`` as an array of the current backend if it is a NumPy array or a Python scalar.

    Inside a trace, and for values of dtype ``float0``, ``x`` itself.
    """
    if hasattr(type(x), "aval") or context.trace is not eval_trace:
        return x
    aval: Any = get_aval(x)
    if aval.dtype == float0:
        return x
    return _backend.array(np.asarray(x, aval.dtype), aval)
