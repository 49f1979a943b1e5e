"""Traces and tracers: the dispatch of operations to their interpretation.

The thread-local ``context`` holds the current trace. Binding a primitive asks that trace to process
it. A trace none of whose tracers is an operand forwards it to its parent, down to evaluation.
"""

import threading
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from ricci_ir._errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnexpectedTracerError,
)
from ricci_ir._guarded_namespaces import without_boundaries
from ricci_ir._namespaces import name_methods
from ricci_ir._records import TupleRecord
from ricci_ir._source import is_internal_module
from ricci_ir._traceback_filtering import api_boundary
from ricci_ir.types import AbstractValue, check_index, check_number, check_truth

from ._array_type import Array, register_array_type

__all__ = ["check_derivative", "context", "enclosing", "eval_context", "ContextBlock", "eval_trace"]
__all__ += ["EvalTrace", "is_concrete", "is_under", "leaked_tracer", "library_form_modules"]
__all__ += ["library_forms", "name_tracers"]
__all__ += ["library_trace_rules", "LibraryForm", "set_trace", "Trace", "Tracer"]


# For type checkers a tracer is an ``Array``; at run time ``Array`` recognises registered classes.
_Base = Array if TYPE_CHECKING else object


class Named(Protocol):
    """The part of ``Primitive``, which is defined on top of traces, that error messages use."""

    name: str


# By primitive, its application by a trace that is written for JAX and may have a method for it.
library_trace_rules: "dict[Any, Callable[[Trace, Any, tuple[Any, ...], dict[str, Any]], Any]]" = {}


class LibraryForm(TupleRecord):
    """The parameters of a primitive as interpreters written for JAX read and give them.

    Attributes:
      mark: the name of a parameter that only this form has.
      read: maps operands and parameters in this form to those of the primitive.
      write: maps parameters of the primitive to parameters in this form.
    """

    mark: str
    read: Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]
    write: Callable[[dict[str, Any]], dict[str, Any]]


# By primitive, for calls and loops whose parameters are not those of JAX.
library_forms: dict[Any, LibraryForm] = {}

# The modules that fill this table; they are imported when a library reads an equation.
library_form_modules: list[str] = []


@without_boundaries
class Trace:
    """An interpretation of primitives. ``parent`` is the trace that it is nested in.

    Its tracers may be used by the thread that made it, as long as it is ``alive``.

    Args:
      parent: the trace around this one.
    """

    __slots__ = ("__weakref__", "alive", "parent", "thread")

    # Whether reading and writing references are recorded, instead of done in Python.
    records_references: bool = False
    # Whether it applies a function to all examples of a batch at once.
    is_mapping: bool = False
    # Whether values made of several arrays are lowered to these before it processes them.
    requires_low: bool = False

    def __init__(self, parent: "Trace | None" = None):
        self.parent: Trace | None = parent
        self.alive: bool = True
        self.thread: int = get_ident()

    @property
    def is_usable(self) -> bool:
        """Whether its tracers may be used now, in this thread."""
        return self.alive and self.thread == get_ident()

    @property
    def main(self) -> "Trace":
        """The object that identifies this trace: the trace itself."""
        return self

    def process(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """Apply a primitive to operands that may be tracers of this trace or of its parents.

        A trace that is written for JAX defines ``process_primitive`` instead, and may define
        ``process_custom_jvp_call``.
        """
        rule = library_trace_rules.get(primitive)
        if rule is not None:
            return rule(self, primitive, args, params)
        form = library_forms.get(primitive)
        if form is not None:
            params = form.write(params)
        return self.process_primitive(primitive, args, params)

    def process_primitive(self, primitive: Any, tracers: Any, params: dict[str, Any]) -> Any:
        """See ``process``."""
        raise NotImplementedError(f"{type(self).__name__} must define process_primitive")

    def process_custom_jvp_call(
        self,
        primitive: object,
        fun: object,
        jvp: object,
        tracers: Sequence[object],
        *,
        symbolic_zeros: bool,
    ) -> Sequence[object]:
        """Apply a function with a custom derivative, in traces that are written for JAX.

        Args:
          primitive: binds the call to other functions and operands, by ``bind_with_trace``.
          fun, jvp: the function and its rule, with primals before tangents, as ``WrappedFun``.
          tracers: the operands.
          symbolic_zeros: whether tangents that are zero are ``SymbolicZero``.
        """
        raise NotImplementedError(f"{type(self).__name__} must define process_custom_jvp_call")

    def full_raise[T](self, x: T) -> T:
        """Return an operand as it is: traces take those of their parents, and plain arrays."""
        return x

    def is_valid(self) -> bool:
        """Whether the trace has not ended."""
        return self.alive

    def invalidate(self) -> None:
        """End the trace: its tracers can no longer be used."""
        self.alive = False

    def lift(self, value: object) -> Any:
        """The tracer for a constant of the enclosing ``JaxprTrace``, or the value without one."""
        return value if self.parent is None else self.parent.lift(value)

    def lift_reference(self, value: Any) -> Any:
        """The traced reference for a reference from outside of the jaxpr being recorded."""
        raise NotImplementedError(f"{type(self).__name__} records no references")

    def accepts(self, tracer: "Tracer") -> bool:
        """Whether a tracer of another trace may be an operand: its trace is one of the parents.

        Traces that ``ensure_compile_time_eval`` has put aside count as parents.
        """
        for trace in (self.parent, *context.put_aside):
            while trace is not None:
                if trace.is_same_as(tracer._trace):
                    return True
                trace = trace.parent
        return False

    def is_same_as(self, other: "Trace") -> bool:
        """Whether the tracers of another trace count as this one's."""
        return other is self


# The module that classes of tracers are named by, except those defined outside of Ricci.
_tracer_module: str | None = None


def name_tracers(module: str) -> None:
    """Name the classes of tracers by one module, also those defined later, but not ``Tracer``.

    Libraries that work on arrays of any kind find the functions for one by the package of its
    class: opt_einsum and autoray look for ``jax``. Eager arrays are of ``jaxlib``, which they know.

    Args:
      module: the module's name.
    """
    global _tracer_module
    _tracer_module = module
    classes = Tracer.__subclasses__()
    while classes:
        cls = classes.pop()
        _name_tracer(cls)
        classes += cls.__subclasses__()


def _name_tracer(cls: type) -> None:
    if _tracer_module is not None and is_internal_module(cls.__module__):
        cls.__module__ = _tracer_module
        name_methods(cls)


@without_boundaries
class Tracer(_Base):
    """A placeholder for an array while a function is traced; ``aval`` is its type.

    Args:
      trace: the trace that it belongs to.
      aval: its type.

    Example:
      >>> import ricci
      >>> traced = []
      >>> _ = ricci.jit(lambda x: traced.append(isinstance(x, ricci.core.Tracer)) or x)(1.0)
      >>> traced, isinstance(ricci.numpy.ones(3), ricci.core.Tracer)
      ([True], False)
    """

    __slots__ = ("__weakref__", "_trace", "aval")
    __array_priority__ = 1000

    # Whether it has a tangent, which a Python number made of its value would lose.
    is_differentiated: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _name_tracer(cls)

    def __init__(self, trace: Trace, aval: AbstractValue):
        self._trace: Trace = trace
        self.aval: Any = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each dimension."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """Whether the dtype gives way to others in promotion, as Python scalars do."""
        return self.aval.weak_type

    def concrete(self) -> Any:
        """The concrete array of this tracer if its value is known while tracing, else ``None``."""
        return None

    def full_lower(self) -> object:
        """Return the tracer without superfluous wrappers: itself, unless a library overrides it."""
        return self

    def get_referent(self) -> object:
        """Return the object whose identity is that of the value: the tracer itself."""
        return self

    def to_concrete_value(self) -> object:
        """Return the concrete array if the value is known while tracing, else ``None``."""
        return self.concrete()

    def _origin_message(self) -> str:
        """A sentence on the tracer's origin for error messages; empty if it is unknown."""
        return ""

    def __len__(self) -> int:
        return len(self.aval)

    def __bool__(self) -> bool:
        check_truth(self.aval)
        return bool(self._concrete_or(TracerBoolConversionError))

    def __int__(self) -> int:
        check_number(self.aval)
        return int(self._concrete_or(_concretization("int")))

    def __float__(self) -> float:
        check_number(self.aval)
        check_derivative(self, "float(x)")
        return float(self._concrete_or(_concretization("float")))

    def __complex__(self) -> complex:
        check_number(self.aval)
        check_derivative(self, "complex(x)")
        return complex(self._concrete_or(_concretization("complex")))

    def __index__(self) -> int:
        check_index(self.aval)
        return self._concrete_or(TracerIntegerConversionError).__index__()

    def _concrete_or(self, error: Callable[["Tracer"], Exception]) -> Any:
        value = self.concrete()
        if value is None:
            raise error(self)
        return value

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        raise TracerArrayConversionError(self)

    def __copy__(self) -> "Tracer":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Tracer":
        return self

    def __reduce__(self) -> NoReturn:
        raise ConcretizationTypeError(self, "It cannot be pickled, nor sent to another process.")

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __setitem__(self, index: object, value: object) -> None:
        raise TypeError(
            f"a traced array of type {self.aval.str_short()} cannot be assigned to: arrays are "
            "immutable. Use x = x.at[index].set(value), which returns an updated copy."
        )

    def __format__(self, format_spec: str) -> str:
        if not format_spec:
            return str(self)
        raise TypeError(
            f"a traced array of type {self.aval.str_short()} has no value that the format "
            f"{format_spec!r} could show. debug.print('{{x:{format_spec}}}', x=x) shows it when "
            "the program runs."
        )

    def __repr__(self) -> str:
        return f"Traced<{self.aval}>with<{type(self._trace).__name__}>"


# The methods that Python and NumPy call without a function of Ricci's around them.
for _name in ("len", "bool", "int", "float", "complex", "index", "array", "setitem", "format"):
    _method = f"__{_name}__"
    setattr(Tracer, _method, api_boundary(getattr(Tracer, _method)))
register_array_type(Tracer)


def check_derivative(tracer: Tracer, asked: str) -> None:
    """Check that no derivative is lost where a tracer's value becomes a number.

    Args:
      asked: the conversion to a number, for the message.

    Raises:
      ConcretizationTypeError: if the tracer is being differentiated.
    """
    if tracer.is_differentiated and tracer.concrete() is not None:
        raise ConcretizationTypeError.of_derivative(tracer, asked)


def _concretization(function: str):
    return lambda tracer: ConcretizationTypeError(
        tracer,
        f"The problem arose with the `{function}` function"
        + (", which math.sin and the like call as well." if function == "float" else "."),
    )


def leaked_tracer(tracer: Tracer, primitive: Named | None = None) -> UnexpectedTracerError:
    """The error for a tracer that is used after its trace has ended, or in another thread."""
    use = f" was passed to {primitive.name!r}" if primitive is not None else " was used"
    trace = tracer._trace
    if trace.is_usable:
        when = "where the operations of that trace are not recorded"
        advice = (
            "A rule of a custom function, or a function that it calls, closes over the value. Pass "
            "it to the custom function as an argument."
        )
    elif trace.alive:
        when = "in another thread than the one that traces that function"
        advice = "Start threads outside of functions that are transformed, or pass arrays to them."
    else:
        when = "after that trace had ended"
        advice = (
            "Return the value from the function instead of saving it in a global, an attribute or "
            "a list outside of it."
        )
    return UnexpectedTracerError(
        f"A traced value of type {tracer.aval.str_short()} escaped from the function that was "
        f"being transformed, and{use} {when}.{tracer._origin_message()}\n{advice}"
    )


class EvalTrace(Trace):
    """The root trace; ``process`` is the backend's function that evaluates a primitive."""

    __slots__ = ("process",)

    def __init__(self):
        super().__init__(None)


eval_trace: EvalTrace = EvalTrace()


class _Context(threading.local):
    """The state of this thread: the current trace, the stack of names, observers."""

    trace: Trace = eval_trace
    name_stack: tuple[str, ...] = ()
    # The place in the user's code of the equation that is being transformed or replayed.
    origin: tuple[Any, int] | None = None
    # The traces that were current where blocks of ``ensure_compile_time_eval`` were entered.
    put_aside: tuple[Trace, ...] = ()
    observers: tuple[Callable[[Any], object], ...] = ()
    # While an observer has functions retraced: by ``id`` of a cache, that cache and the temporary
    # one in its place.
    temporary_caches: dict[int, tuple[Any, Any]] | None = None


context: _Context = _Context()


class ContextBlock:
    """A ``with`` block that changes ``context``, and restores it in the thread that entered it.

    The block of a generator may be exited in another thread, as when the generator is collected;
    the context of that thread stays unchanged then. A block may be entered again inside itself,
    and by several threads.
    """

    __slots__ = ("_entered",)

    def __init__(self):
        self._entered: list[tuple[int, Any]] = []

    def _enter(self, previous: object) -> None:
        """Record the value to restore, which is not ``None``."""
        self._entered.append((get_ident(), previous))

    def _leave(self) -> Any:
        """Return the value to restore; ``None`` if this thread did not enter the block."""
        entered, thread = self._entered, get_ident()
        if len(entered) == 1 and entered[0][0] == thread:
            return entered.pop(0)[1]
        for i in reversed(range(len(entered))):
            if entered[i][0] == thread:
                return entered.pop(i)[1]
        return None


class set_trace(ContextBlock):
    """Make a trace the current one inside a ``with`` block."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace):
        super().__init__()
        self.trace: Trace = trace

    def __enter__(self) -> Trace:
        self._enter(context.trace)
        context.trace = self.trace
        return self.trace

    def __exit__(self, *exception: object) -> None:
        previous = self._leave()
        if previous is not None:
            context.trace = previous


def eval_context() -> set_trace:
    """Evaluate operations at once inside a ``with`` block, even while tracing.

    Example:
      >>> import ricci
      >>> @ricci.jit
      ... def f(x):
      ...     with ricci.core.eval_context():
      ...         y = ricci.numpy.arange(3).sum()  # computed while tracing
      ...     return x + int(y)
      >>> float(f(1.0))
      4.0
    """
    return set_trace(eval_trace)


def is_concrete(x: object) -> bool:
    """Whether ``x`` has a value: it is not a tracer, or is one with a concrete array."""
    return not isinstance(x, Tracer) or x.concrete() is not None


def enclosing[T: Trace](kind: type[T], trace: Trace | None = None) -> T | None:
    """The innermost instance of a class among a trace (the current one) and its parents, if any."""
    trace = context.trace if trace is None else trace
    while trace is not None:
        if isinstance(trace, kind):
            return trace
        trace = trace.parent
    return None


def is_under(kind: type[Trace]) -> bool:
    """Whether the current trace, or one of its parents, is an instance of a class."""
    return enclosing(kind) is not None
