"""References: objects that hold an array and let it be replaced.

All reads and writes of a reference call ``read`` and ``write``. A trace that records a jaxpr
records these as equations (``records_references``). Under every other trace a reference is this
Python object, and the array in it is a value of the trace: reads and writes are then functions of
arrays, so that derivatives and batching need no rules for them.
"""

from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn

from ricci_ir._hook import Hook
from ricci_ir._source import Source
from ricci_ir.types import AbstractRef, AbstractValue

from ._primitive import Primitive, RuleTable, primitive_classes, rule_table
from ._trace import Trace, Tracer, context, leaked_tracer, library_forms

__all__ = ["BracketedReference", "check_distinct", "check_distinct_operands", "check_returned"]
__all__ += ["check_takes_references", "check_write", "discharge_rules", "DischargedPrimitive"]
__all__ += ["is_reference", "is_traced", "locked", "recorded_reference", "Ref", "reference_methods"]
__all__ += ["refuse_reference", "uses_references"]

# ``rule(*operands, **params)`` applies a primitive in the current trace to references that are read
# and written by their methods, and returns its results. The primitives that read and write have
# one, and those that hold jaxprs with references among their operands.
discharge_rules: RuleTable = rule_table("discharge", required=False)


# The functions behind brackets and views: ``get``, ``set``, ``swap``, ``addupdate``, ``at``,
# ``reshape`` and ``bitcast``.
reference_methods: Hook[Callable[[str], Callable[..., Any]]] = Hook(
    "methods of references", provided_by="ricci_lax"
)


class _RefMeta(type):
    """The metaclass that makes traced references instances of ``Ref``."""

    def __instancecheck__(cls, instance: object) -> bool:
        return type.__instancecheck__(cls, instance) or is_reference(instance)


class BracketedReference:
    """The base class of references: indexing and array properties. Subclasses read and write."""

    __slots__ = ()

    if TYPE_CHECKING:
        aval: Any

    def __getitem__(self, index: Any) -> Any:
        return reference_methods.call("get")(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        reference_methods.call("set")(self, index, value)

    def __len__(self) -> int:
        return len(self.aval)

    def __iter__(self) -> Any:
        raise TypeError("a reference cannot be iterated over. Read it first: for x in ref[...].")

    @property
    def at(self) -> Any:
        """A view of a part of the array: ``ref.at[index]``."""
        return reference_methods.call("at")(self)

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The array's dtype."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of the array's dimensions."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of the array's elements."""
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        """Whether the array's dtype is weak."""
        return self.aval.weak_type

    @property
    def sharding(self) -> Any:
        """The array's sharding."""
        return self.aval.sharding

    def addupdate(self, x: Any, idx: Any = ...) -> None:
        """Add a value to the elements at an index."""
        reference_methods.call("addupdate")(self, idx, x)

    def reshape(self, *shape: int | Sequence[int]) -> "BracketedReference":
        """View the reference in another shape, one size of which may be -1."""
        return reference_methods.call("reshape")(self, *shape)

    def bitcast(self, dtype: object) -> "BracketedReference":
        """View the bits as another dtype; the last dimension but one changes with the width."""
        return reference_methods.call("bitcast")(self, dtype)


def is_reference(x: object) -> bool:
    """Whether a value is a reference, traced or not."""
    return isinstance(x, BracketedReference)


def refuse_reference(ref: BracketedReference) -> NoReturn:
    """Raise ``TypeError`` for a reference where an array is expected."""
    raise TypeError(
        f"an array is expected, got a reference of type {ref.aval}. Read it first: ref[...]."
    )


class ReferenceOperatorError(TypeError, AttributeError):
    """An operator that is applied to a reference; JAX raises AttributeError."""


def _no_operator(name: str, example: str) -> Any:
    def operator(self: Any, *others: object) -> Any:
        raise ReferenceOperatorError(
            f"{name} is not defined for a reference of type {self.aval}. Read it first: {example}"
        )

    return operator


_binary = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
}
_comparisons = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_unary = {"neg": "-", "pos": "+", "invert": "~"}

for _name, _symbol in (_binary | _comparisons).items():
    _example = f"ref[...] {_symbol} operand."
    setattr(BracketedReference, f"__{_name}__", _no_operator(_symbol, _example))
for _name, _symbol in _binary.items():
    _example = f"operand {_symbol} ref[...]."
    setattr(BracketedReference, f"__r{_name}__", _no_operator(_symbol, _example))
for _name, _symbol in _unary.items():
    setattr(BracketedReference, f"__{_name}__", _no_operator(_symbol, f"{_symbol}ref[...]."))
for _name in ("abs", "float", "int", "bool", "index", "array"):
    setattr(BracketedReference, f"__{_name}__", _no_operator(f"__{_name}__", "ref[...]."))


class Ref(BracketedReference, metaclass=_RefMeta):
    """A reference: an object that holds an array, whose elements can be replaced in place.

    ``new_ref`` makes one. ``ref[...]`` reads the array, ``ref[index]`` a part of it, and
    ``ref[index] = value`` replaces that.

    Args:
      aval: the type of the reference.
      refs: the array that it holds.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> ref = ricci.new_ref(jnp.arange(3))
      >>> ref[1] = 10
      >>> ref[...]
      Array([ 0, 10,  2], dtype=int32)
      >>> isinstance(ref, ricci.Ref)
      True
    """

    __slots__ = ("__weakref__", "_aval", "_freed", "_lock", "_owned", "_owner", "_value")

    _owned: bool

    def __init__(self, aval: AbstractRef, refs: Any):
        self._aval: AbstractRef = aval
        self._value: Any = refs
        self._owner: Trace = context.trace
        self._owned = False  # whether the array has no other holder, so that it may be donated
        self._freed: bool = False
        self._lock = RLock()

    @property
    def aval(self) -> AbstractRef:
        """The type of the reference."""
        return self._aval

    @property
    def sharding(self) -> Any:
        """The array's sharding."""
        return self.read().sharding

    def read(self, shared: bool = False) -> Any:
        """The array that it holds.

        Args:
          shared: whether the caller will expose the array, so that it can no longer be donated.

        Raises:
          ValueError: if the reference was freed.
          UnexpectedTracerError: if it belongs to a transformation that has ended.
        """
        recorded = recorded_reference(self, self._owner)
        return self._read(shared) if recorded is None else recorded.read(shared)

    def write(self, value: Any, fresh: bool = False) -> None:
        """Replace the array by another one of the same type.

        Args:
          value: the array.
          fresh: whether it has no other holder.

        Raises:
          ValueError: if the reference was freed, or the value belongs to a transformation that
            the reference is outside of.
        """
        recorded = recorded_reference(self, self._owner)
        if recorded is not None:
            recorded.write(value, fresh)
            return
        check_write(self, self._owner, value)
        self._write(value, fresh)

    def _read(self, shared: bool) -> Any:
        self._check_not_freed()
        # An error may have ended the transformation after it wrote a tracer to the reference.
        if isinstance(self._value, Tracer) and not self._value._trace.alive:
            raise leaked_tracer(self._value)
        if shared:
            self._owned = False
        return self._value

    def _write(self, value: Any, fresh: bool) -> None:
        self._check_not_freed()
        self._value, self._owned = value, fresh

    @property
    def committed(self) -> bool:
        """Whether the array must stay on its devices."""
        return self.read().committed

    @property
    def format(self) -> Any:
        """The sharding and the layout of the array."""
        return self.read().format

    def unsafe_buffer_pointer(self) -> int:
        """The address of the array's memory, which the next write may change."""
        return self.read().unsafe_buffer_pointer()

    @property
    def is_owned(self) -> bool:
        """Whether the array has no other holder, so that its memory may be reused."""
        return self._owned

    def free(self) -> None:
        """Drop the array. Later uses of the reference raise an error.

        Raises:
          ValueError: if the reference was freed already.
        """
        recorded = recorded_reference(self, self._owner)
        if recorded is not None:
            recorded.free()
            return
        self._check_not_freed()
        self._freed, self._value = True, None

    @property
    def is_freed(self) -> bool:
        """Whether the array was dropped."""
        return self._freed

    def _check_not_freed(self) -> None:
        if self._freed:
            # When a jaxpr is replayed, the line of the equation, not of the compiling call.
            location = f", at {Source(*context.origin)}" if context.origin is not None else ""
            raise ValueError(
                f"a reference of type {self._aval} was used after free_ref{location}. Read what is "
                "needed before that, or make a new reference."
            )

    def __reduce__(self) -> Any:
        return Ref, (self._aval, self.read(shared=True))

    def __copy__(self) -> "Ref":
        return Ref(self._aval, self.read(shared=True))

    def __deepcopy__(self, memo: Any) -> "Ref":
        return Ref(self._aval, self.read(shared=True))

    def __repr__(self) -> str:
        if self._freed:
            return f"Ref({self._aval.inner_aval.str_short()}, freed)"
        return (
            f"Ref({repr(self._value).removeprefix('Array(')}"
            if (repr(self._value).startswith("Array("))
            else f"Ref({self._value!r})"
        )


def recorded_reference(ref: Any, owner: Trace) -> Any:
    """The traced reference if a jaxpr is being recorded inside of the reference's trace, or None.

    Reads and writes by transformations inside of that jaxpr are recorded in it.
    """
    trace: Trace | None = context.trace
    while trace is not None and trace is not owner:
        if trace.records_references:
            return trace.lift_reference(ref)
        trace = trace.parent
    return None


def check_write(ref: Any, owner: Trace, value: object) -> None:
    """Refuse to write a tracer of a transformation to a reference from outside of it.

    Args:
      ref: the reference.
      owner: the trace that it belongs to.
      value: the value.

    Raises:
      ValueError: if the value is a tracer of another trace than the owner and its parents, or if
        the reference is written inside of ``vmap`` and not made or mapped there.
    """
    trace: Trace | None = context.trace
    while trace is not None and trace is not owner:
        if trace.is_mapping:
            raise _refused(ref, "inside of vmap, which does not map over the reference")
        trace = trace.parent
    if not isinstance(value, Tracer) or value._trace is owner or owner.accepts(value):
        return
    raise _refused(ref, f"with a value of type {value.aval.str_short()} that depends on it")


def _refused(ref: Any, how: str) -> ValueError:
    return ValueError(
        f"a reference of type {ref.aval} from outside of a transformed function is written {how}. "
        "Make the reference inside of the function, or pass it as an argument to it."
    )


def check_distinct(
    name: str, args: Sequence[Any], names: Callable[[], Sequence[str]] | None = None
) -> None:
    """Refuse a call in which several arguments are the same reference.

    Args:
      name: the called function, for messages.
      args: the values that it closes over, and then its arguments.
      names: returns the names of the arguments.

    Raises:
      ValueError: if one reference occurs twice among ``args``.
    """
    # By class first: of a jaxpr's many constants, most share one.
    if not any(issubclass(kind, BracketedReference) for kind in set(map(type, args))):
        return
    seen: dict[int, int] = {}
    for i, x in enumerate(args):
        if isinstance(x, BracketedReference):
            # Two tracers may represent one variable of a jaxpr, so traced references are identified
            # by it.
            first = seen.setdefault(id(getattr(x, "atom", x)), i)
            if first != i:
                known_names = [] if names is None else list(names())
                start = len(args) - len(known_names)
                both = [known_names[k - start] for k in (first, i) if k >= start]
                raise ValueError(_aliased(name, x, both))


def _aliased(name: str, ref: Any, names: Sequence[str]) -> str:
    """The message for a reference that occurs as several arguments."""
    problem = {
        0: "is passed twice, or passed and closed over",
        1: f"is passed as argument {names[-1]}, and closed over" if names else "",
        2: f"is passed twice, as arguments {' and '.join(names)}",
    }[len(names)]
    return (
        f"{name}: a reference of type {ref.aval} {problem}. Only one of a function's names may "
        "refer to a reference, since writing to one would change the other: pass it once."
    )


def check_distinct_operands(primitive: str, args: Sequence[Any], params: dict[str, Any]) -> None:
    """Refuse an operation with the same reference as several operands.

    Raises:
      ValueError: if it has. A loop may read one in its condition and in its body.
    """
    if "cond_jaxpr" in params:
        return
    programs = (x[0] if isinstance(x, tuple) and x else x for x in params.values())
    infos = (getattr(program, "debug_info", None) for program in programs)
    info: Any = next((x for x in infos if x is not None), None)
    if info is None or not info.arg_names or len(info.arg_names) > len(args):
        check_distinct(primitive if info is None else f"{primitive} of {info.func_name}", args)
    else:
        check_distinct(f"{primitive} of {info.func_name}", args, lambda: info.arg_names)


def check_takes_references(primitive: Primitive, aval: AbstractValue) -> None:
    """Raise ``TypeError`` if an operation on arrays is applied to a reference."""
    if type(aval) is AbstractRef and not isinstance(primitive, DischargedPrimitive):
        raise TypeError(
            f"{primitive.name} takes arrays, but an operand is a reference of type {aval}. Read it "
            "first: ref[...]."
        )


def check_returned(results: Iterable[Any], trace: Trace) -> None:
    """Refuse to return a reference from the transformation that it belongs to.

    Raises:
      ValueError: if one of the results is such a reference.
    """
    for x in results:
        if isinstance(x, BracketedReference) and getattr(x, "_owner", None) is trace:
            raise ValueError(
                f"a function that is transformed returned a reference of type {x.aval} that it "
                "made or that was passed to it. Return what it holds: ref[...]."
            )


def is_traced(x: object) -> bool:
    """Whether a value is a tracer, or a reference that may hold one."""
    return isinstance(x, Tracer) or (type(x) is Ref and x._owner.parent is not None)


class locked:
    """Lock the references among some values inside of a ``with`` block.

    The locks are acquired in the order of their ids, so that two threads cannot deadlock.
    """

    __slots__ = ("locks",)

    def __init__(self, values: Iterable[Any]):
        locks_by_id = {id(x): x._lock for x in values if type(x) is Ref}
        self.locks: list[Any] = [locks_by_id[key] for key in sorted(locks_by_id)]

    def __enter__(self) -> None:
        for lock in self.locks:
            lock.acquire()

    def __exit__(self, *exception: object) -> None:
        for lock in reversed(self.locks):
            lock.release()


def uses_references(effects: Iterable[Any]) -> bool:
    """Whether some effects are those of reading or writing references."""
    return any(getattr(effect, "of_references", False) for effect in effects)


class DischargedPrimitive(Primitive):
    """A primitive with a ``discharge`` rule: it takes references, or jaxprs that do.

    A trace that records references records it. Under any other, its rule is applied.
    """

    __slots__ = ()

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the primitive in the current trace."""
        form = library_forms.get(self)
        if form is not None and form.mark in params:
            args, params = form.read(args, params)
        trace = context.trace
        if not trace.records_references and self.effects is not None:
            effects = self.effects(params)
            if effects and uses_references(effects):
                check_distinct_operands(self.name, args, params)
                with locked(args):
                    return discharge_rules[self](*args, **params)
        return trace.process(self, args, params)


primitive_classes["discharge"] = DischargedPrimitive
