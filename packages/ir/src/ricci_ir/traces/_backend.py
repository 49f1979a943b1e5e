"""Backends, which evaluate primitives: their interface, and operations with fixed parameters."""

import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np

from ricci_ir._cache import Cache
from ricci_ir._errors import ConcretizationTypeError
from ricci_ir._function_copies import as_method
from ricci_ir._settings import Override, State
from ricci_ir._traceback_filtering import on_calls, on_results
from ricci_ir.dimensions import is_static_shape
from ricci_ir.types import ShapedArray, array_dtypes, float0, get_aval, is_narrowed

from ._array_type import Array
from ._observe import note_rounding
from ._primitive import Primitive, primitives
from ._references import BracketedReference, refuse_reference
from ._trace import Tracer, check_derivative, context, eval_trace
from ._typing import ArrayLike

__all__ = [
    "Backend",
    "DispatchedFunction",
    "OneStep",
    "Operation",
    "as_array",
    "as_result",
    "backend",
    "exact_scalar",
    "float0_zeros",
    "has_backend",
    "is_host_operand",
    "of_type",
    "set_backend",
    "unnarrowed",
    "use_backend",
    "values_of",
]

_python_numbers = frozenset({int, float, complex})


class OneStep(Protocol):
    """The part of a ``Composite`` that a backend uses."""

    name: str
    donates: bool

    def apply(self, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        """Apply it in the current trace."""
        ...

    def step(self, args: tuple[Any, ...], settings: dict[str, Any]) -> Any:
        """Return its jaxpr for arguments of these types."""
        ...


class DispatchedFunction(Protocol):
    """The part of a function that is marked with ``dispatched`` that a backend uses."""

    name: str
    setting_names: tuple[str, ...]
    setting_numbers: tuple[int, ...]
    # The parameters, by position and by name, whose integers do not change the jaxpr.
    without_choice: frozenset[int | str]
    # ``apply(args, kwargs)`` calls it as it is, in the current trace; ``read(args, kwargs)``
    # returns the operands of a call and the key of their types, or None; ``program(call)`` returns
    # the jaxpr for such a call, or None.
    apply: Callable[..., Any]
    read: Callable[..., Any]
    program: Callable[..., Any]


class Backend(Protocol):
    """An evaluator of primitives: ``ricci_xla`` on devices, ``ricci_reference`` with NumPy."""

    name: str

    def evaluate(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply one primitive to concrete values, now."""
        ...

    def operation(self, primitive: Primitive, params: dict[str, Any]) -> Callable[..., Any]:
        """A function that applies a primitive with these parameters to concrete values, now."""
        ...

    def dispatcher(self, composite: OneStep) -> Callable[..., Any] | None:
        """Return a fast way to apply a composite outside of any trace, or ``None``.

        The function takes the settings as a tuple of pairs, followed by the arrays. It must call
        ``composite.apply`` if there are tracers among these, or if ``jit`` is disabled.
        """
        ...

    def public_dispatcher(self, function: DispatchedFunction) -> Callable[..., Any] | None:
        """A fast way to call a public function outside of any trace, or ``None``.

        It must call ``function.apply`` if there are tracers among the arguments, or if ``jit`` is
        disabled.
        """
        ...

    def array(self, value: np.ndarray, aval: ShapedArray) -> Any:
        """An array of this backend holding a NumPy array's values, with the given type."""
        ...

    def from_dlpack(self, x: object, device: object, copy: bool | None) -> Any:
        """An array of this backend made from another library's array, by the DLPack protocol."""
        ...

    def devices(self) -> tuple[Any, ...]:
        """The devices of this backend, the default one first; ``None`` is the default one."""
        ...

    def clear(self) -> None:
        """Drop the cached executables."""
        ...


# The packages that set a backend when they are imported.
_PACKAGES = ("ricci_xla", "ricci_reference")


class _Missing:
    """The backend until one is imported: it imports the first that is installed, to compute."""

    name = "none"

    def _replacement(self, primitive: Primitive) -> Backend:
        from importlib.util import find_spec  # noqa: PLC0415 - lazy: seldom without a backend

        for package in _PACKAGES:
            if find_spec(package) is not None:
                import_module(package)
                if has_backend():
                    return backend()
        raise RuntimeError(
            f"cannot compute {primitive.name!r}: no backend is installed to run it.\n"
            "Install ricci_xla (compiled) or ricci_reference (NumPy), or trace the function with "
            "make_jaxpr instead of calling it."
        )

    def evaluate(self, primitive, args, params):
        return self._replacement(primitive).evaluate(primitive, args, params)

    def operation(self, primitive, params):
        return lambda *args: self.evaluate(primitive, args, params)

    def dispatcher(self, composite):
        return None

    def public_dispatcher(self, function):
        return None

    def array(self, value, aval):
        return self._replacement(_array_p).array(value, aval)

    def from_dlpack(self, x, device, copy):
        return self._replacement(_array_p).from_dlpack(x, device, copy)

    def devices(self):
        return ()

    def clear(self):
        return None


_array_p = Primitive("array")
_state = State("backend", None, _Missing())


def backend() -> Backend:
    """The backend that evaluates primitives eagerly in this thread."""
    return _state.value


def _evaluate_in_thread(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    return _state.value.evaluate(primitive, args, params)


class _Evaluation:
    """The shared backend's functions, which the hot path calls without looking up the backend.

    As long as no thread overrides the backend, ``eval_trace.process`` is its ``evaluate``, and
    ``dispatch`` of an operation is its function for that. While one does, both are functions that
    look up the backend of the calling thread.
    """

    def __init__(self):
        self._lock = threading.RLock()
        self._shared: Any = None
        # The operations whose ``dispatch`` is the shared backend's function.
        self._applied: WeakSet[Applied] = WeakSet()
        _state.on_change(self._changed)

    def _changed(self, value: Any, local: bool) -> None:
        with self._lock:
            if not local:
                self._shared = value.evaluate
            eval_trace.process = _evaluate_in_thread if _state.is_overridden else self._shared
            for applied in self._applied:
                applied.dispatch = applied.dispatch_in_thread
            self._applied.clear()

    def share(self, applied: "Applied", function: Callable[..., Any], maker: Backend) -> None:
        """Make a backend's function the operation's, unless another backend may be asked for it."""
        # A change that happens meanwhile waits for the lock, and then resets the operation.
        with self._lock:
            if not _state.is_overridden and _state.shared_value is maker:
                applied.dispatch = function
                self._applied.add(applied)


# The backends' functions for operations and composites; the keys are ``(applied, backend)``.
_applications: Cache[Any, Callable[..., Any]] = Cache("applied operations", 4096)


class Applied:
    """An operation or composite; each backend makes a function that applies it.

    Attributes:
      dispatch: applies it by the backend of the calling thread, outside of any trace.
    """

    __slots__ = ("__weakref__", "dispatch")

    def __init__(self):
        self.dispatch: Callable[..., Any] = self.dispatch_in_thread

    def _make_application(self, backend: Backend) -> Callable[..., Any]:
        raise NotImplementedError

    def dispatch_in_thread(self, *args: object, **kwargs: object) -> object:
        """Look up the function of this thread's backend, and call it."""
        current = backend()
        function = _applications.make((self, current), self._make_application, current)
        _evaluation.share(self, function, current)
        return function(*args, **kwargs)


_evaluation = _Evaluation()


def set_backend(new: Backend) -> Backend:
    """Set the shared backend, of all threads without an override; returns the former one."""
    old = _state.shared_value
    _state.set_global(new)
    return old


def has_backend() -> bool:
    """Whether any backend has been set."""
    return not isinstance(_state.value, _Missing)


def use_backend(new: Backend) -> Override:
    """Evaluate with another backend inside a ``with`` block, in this thread."""
    return _state(new)


def as_array(x: ArrayLike) -> Any:
    """``x`` as an array of the current backend if it is a NumPy array or a Python scalar.

    Inside a trace, and for values of dtype ``float0``, returns ``x`` unchanged.

    Raises:
      TypeError: if ``x`` is a reference.
    """
    if hasattr(type(x), "aval") or context.trace is not eval_trace:
        if isinstance(x, BracketedReference):
            refuse_reference(x)
        return x
    return _converted(x)


def _converted(x: object) -> object:
    """A literal as an array of the current backend; one of dtype ``float0`` unchanged."""
    aval: Any = get_aval(x)
    if aval.dtype == float0:
        return x
    return note_rounding(x, backend().array(np.asarray(x, aval.dtype), aval))


def is_host_operand(x: object) -> bool:
    """Whether ``x`` is a value of NumPy that a dispatcher takes as an operand, as it is.

    Its dtype is not narrowed. A single integer is none: it may decide what a function does.

    Example:
      >>> import numpy as np
      >>> from ricci_ir import is_host_operand
      >>> is_host_operand(np.ones(2, "float32")), is_host_operand(np.int8(1))
      (True, False)
    """
    if type(x) is np.ndarray:
        dtype = x.dtype
        if x.ndim == 0 and dtype.kind in "iub":
            return False
    elif isinstance(x, np.inexact):
        dtype = x.dtype
    else:
        return False
    return dtype in array_dtypes and not is_narrowed(dtype)


def float0_zeros(shape: tuple[int, ...]) -> Array:
    """Zeros of dtype ``float0``: a NumPy array; if a size is symbolic, a variable of the jaxpr."""
    if is_static_shape(shape):
        return np.zeros(shape, float0)  # pyright: ignore[reportReturnType]
    return primitives["broadcast_in_dim"].bind(
        np.zeros((), float0), shape=shape, broadcast_dimensions=(), sharding=None
    )


def as_result(result: object) -> object:
    """Convert literals in the result of a public function to arrays, also inside of a trace.

    In a jaxpr that is being recorded they become literals of it. Without a backend ``result`` is
    returned unchanged.
    """
    if context.trace is eval_trace or not has_backend():
        return result
    if isinstance(result, tuple | list):
        return type(result)([as_result(x) for x in result])
    if not isinstance(result, np.ndarray | np.generic | complex | float | int):
        return result
    lifted = result if np.ndim(result) else context.trace.lift(result)
    return lifted if isinstance(lifted, Tracer) else _converted(result)


on_results(as_result)
on_calls(context, eval_trace, Applied.dispatch_in_thread)


def of_type(x: Any, aval: Any) -> Any:
    """Convert ``x`` to an array if it is a host value whose type is no longer ``aval``.

    A Python or NumPy value that a trace holds was given a type when it was recorded; inside a block
    that turns 64-bit dtypes on or off it would have another one.
    """
    if type(x) in _python_numbers:
        # Types of Python numbers are interned.
        unchanged = get_aval(x) is aval
    else:
        numpy = isinstance(x, np.ndarray | np.generic)
        unchanged = not numpy or aval.dtype == float0 or get_aval(x).dtype == aval.dtype
    return x if unchanged else backend().array(np.asarray(x, aval.dtype), aval)


def unnarrowed(x: object) -> Any:
    """Convert a NumPy value to an array if its dtype would be narrowed, else return it unchanged.

    While 64-bit dtypes are off, a NumPy value of such a dtype is narrowed to 32 bits; an array has
    the dtype where ``jax_explicit_x64_dtypes`` allows it.
    """
    if not isinstance(x, np.ndarray | np.generic) or not is_narrowed(x.dtype):
        return x
    return backend().array(np.asarray(x), ShapedArray(x.shape, x.dtype)) if has_backend() else x


def exact_scalar(value: object, dtype: np.dtype) -> Any:
    """Return a number as a scalar of exactly this dtype, for use beside arrays that have it.

    It is one of NumPy's, but an array if that would be narrowed.
    """
    scalar = np.asarray(value).astype(dtype)[()]
    if context.observers:
        note_rounding(value, scalar)
    return scalar if dtype.itemsize < 8 else unnarrowed(scalar)


class Operation(Applied):
    """A primitive with fixed parameters; it caches the backend's function for them.

    Example:
      >>> from ricci.core import Primitive, ShapedArray
      >>> from ricci_ir import Operation, trace_to_jaxpr
      >>> scale = Operation(Primitive("scale", lambda x, by: x), by=2)
      >>> print(trace_to_jaxpr(lambda x: [scale(x)], [ShapedArray((3,), "float32")]))
      { lambda ; a:f32[3]. let b:f32[3] = scale[by=2] a in (b,) }
    """

    __slots__ = ("params", "primitive")

    def __init__(self, primitive: Primitive, **params: Any):
        super().__init__()
        self.primitive: Primitive = primitive
        self.params: dict[str, Any] = params

    def __call__(self, *args: object) -> Any:
        trace = context.trace
        if trace is not eval_trace:
            return trace.process(self.primitive, args, {**self.params})
        return self.dispatch(*args)

    def _make_application(self, backend: Backend) -> Callable[..., Any]:
        return backend.operation(self.primitive, self.params)


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

    method.__doc__ = f"The ``{name}`` of the array behind the tracer, if its value is known."
    return as_method(method, name, Tracer)


def _property(name: str) -> property:
    return property(
        lambda self: getattr(values_of(self, name), name),
        doc=f"The ``{name}`` of the array behind the tracer, if its value is known.",
    )


for _name in _METHODS:
    setattr(Tracer, _name, _method(_name))
for _name in _PROPERTIES:
    setattr(Tracer, _name, _property(_name))
