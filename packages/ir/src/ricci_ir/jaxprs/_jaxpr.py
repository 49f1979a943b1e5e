"""Jaxprs: traced functions as data, equations over typed variables."""

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

from ricci_ir._cache import Cache
from ricci_ir._hook import Hook
from ricci_ir._settings import SettingsSwitch, TraceKey
from ricci_ir._source import Source, unknown_source
from ricci_ir.traces import NameStack, Primitive
from ricci_ir.types._abstract_value import AbstractValue
from ricci_ir.types._aval import get_aval

from ._effects import no_effects
from ._library_params import differing_names, readable_by_libraries

__all__ = ["Atom", "convert_constvars", "count_equations", "DebugInfo", "DropVar", "EqnContext"]
__all__ += [
    "Jaxpr",
    "JaxprEqn",
    "jaxprs_in_params",
    "Literal",
    "subjaxprs",
    "unknown_debug_info",
    "Var",
]

_lock = threading.RLock()
_python_numbers = frozenset({int, float, complex})


class Var:
    """A variable of a jaxpr; it has a type, and gets a name when the jaxpr is printed.

    Args:
      aval: the type.

    Example:
      >>> import ricci
      >>> jaxpr = ricci.make_jaxpr(lambda x: x * 2.0)(1.0)
      >>> jaxpr.invars[0].aval
      ShapedArray(float32[], weak_type=True)
    """

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue):
        self.aval: Any = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval.str_short()}"


class DropVar(Var):
    """A variable that nothing reads, printed ``_``."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "_"


class Literal:
    """A scalar constant among the operands of an equation or the results of a jaxpr.

    Example:
      >>> import ricci
      >>> eqn = ricci.make_jaxpr(lambda x: x * 2.0)(1.0).eqns[0]
      >>> eqn.invars[1].val
      2.0
    """

    __slots__ = ("aval", "val")

    def __init__(self, val: object, aval: AbstractValue):
        self.val: Any = val
        self.aval: Any = aval

    def operand(self) -> Any:
        """The constant as an operand of its type, whatever the current dtype of Python scalars."""
        val = self.val
        # A Python number has the dtype of the settings under which it was traced, which may have
        # changed.
        if type(val) in _python_numbers and get_aval(val) is not self.aval:
            return self.aval.dtype.type(val)
        return val

    def __repr__(self) -> str:
        return f"Literal({self.val})"


Atom = Var | Literal


# ``(jaxpr, options, use_color=, width=)``, and the equations. The module ``_print`` imports this
# one, and is itself imported with the first jaxpr that is printed.
jaxpr_printer: Hook[Callable[..., str]] = Hook("printed jaxprs", provided_by="ricci_ir")
equations_printer: Hook[Callable[[Sequence[Any]], str]] = Hook(
    "printed equations", provided_by="ricci_ir"
)
jaxpr_printer.provide_late("ricci_ir.jaxprs._print")
equations_printer.provide_late("ricci_ir.jaxprs._print")


class EqnContext(NamedTuple):
    """The settings that an equation was applied under.

    Attributes:
      settings: the settings, ``None`` for those of its jaxpr.
    """

    settings: TraceKey | None = None

    @property
    def manager(self) -> SettingsSwitch:
        """A context manager that activates the settings."""
        return SettingsSwitch(self.settings)


class JaxprEqn:
    """One equation: ``outvars = primitive[params] invars``.

    Args:
      ctx: a context without settings of its own.

    Attributes:
      settings: the settings that the equation was traced under, if they differ from those of its
        jaxpr. Interpreters evaluate the equation under them.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> eqn = ricci.make_jaxpr(lambda x: jnp.sum(x, axis=1))(jnp.ones((2, 3))).eqns[0]
      >>> eqn.primitive.name, eqn.params["axes"], eqn.outvars[0].aval
      ('reduce_sum', (1,), ShapedArray(float32[2]))
    """

    __slots__ = ("effects", "invars", "outvars", "params", "primitive", "raw_source")
    # Of the class, not a slot: see ``_EqnUnderSettings``.
    settings: TraceKey | None = None

    def __init__(
        self,
        invars: Sequence[Atom],
        outvars: Sequence[Var],
        primitive: Primitive,
        params: dict[str, Any],
        effects: frozenset[Any] = no_effects,
        source_info: tuple[Any, ...] = unknown_source,
        ctx: "EqnContext | None" = None,
    ):
        if ctx is not None and ctx.settings is not None:
            raise TypeError(
                "JaxprEqn: a context with settings of its own makes an equation of another class: "
                "call new_jaxpr_eqn, or replace of an equation that has them."
            )
        if primitive.name in differing_names:
            params = readable_by_libraries(primitive, params)
        self.invars: Sequence[Atom] = invars
        self.outvars: Sequence[Var] = outvars
        self.primitive: Primitive = primitive
        self.params: dict[str, Any] = params
        self.effects: frozenset[Any] = effects
        self.raw_source: tuple[Any, ...] = source_info

    @property
    def source(self) -> Source:
        """The place in the user's code that the equation comes from."""
        code, offset, *names = self.raw_source
        return Source(code, offset, NameStack(*names))

    source_info = source

    @property
    def ctx(self) -> "EqnContext":
        """The settings of the equation; ``with eqn.ctx.manager:`` activates them."""
        return EqnContext(self.settings)

    def replace(self, **changes: object) -> "JaxprEqn":
        """A copy with some of the fields replaced, by the names of the arguments."""
        return JaxprEqn(**{**self._fields(), **changes}).under(self.settings)

    def _fields(self) -> dict[str, Any]:
        fields = {name: getattr(self, name) for name in JaxprEqn.__slots__}
        fields["source_info"] = fields.pop("raw_source")
        return fields

    def reading(self, invars: Sequence[Atom]) -> "JaxprEqn":
        """The same equation with other operands."""
        return JaxprEqn(
            invars, self.outvars, self.primitive, self.params, self.effects, self.raw_source
        ).under(self.settings)

    def under(self, settings: TraceKey | None) -> "JaxprEqn":
        """The equation with other settings; for ``None``, the equation itself."""
        if settings is None:
            return self
        return _EqnUnderSettings(settings, **self._fields())

    def __repr__(self) -> str:
        return equations_printer.call([self])


class _EqnUnderSettings(JaxprEqn):
    """An equation with settings; a subclass, since most have none and save the slot."""

    __slots__ = ("settings",)

    def __init__(self, settings: TraceKey, **fields: Any):
        super().__init__(**fields)
        self.settings = settings


class DebugInfo(NamedTuple):
    """The origin of a jaxpr: the transformation, the function, and its arguments' names.

    Args:
      traced_for: the transformation, such as ``"jit"``.
      func_name: the function's name and place.
      arg_names: the names of the arguments.
      result_paths: the paths to the results.
    """

    traced_for: str
    func_name: str
    arg_names: tuple[str, ...] | None = None
    result_paths: tuple[str, ...] | None = None

    @property
    def func_src_info(self) -> str:
        """The function's name and place, by the name that JAX has for it."""
        return self.func_name

    def with_unknown_names(self) -> "DebugInfo":
        """The same function with other arguments and results, whose names are not known."""
        return self._replace(arg_names=None, result_paths=None)


unknown_debug_info: DebugInfo = DebugInfo("unknown", "<unknown>")


class Jaxpr:
    """A traced function: equations over variables, closed over constants.

    Attributes:
      constvars, consts: the variables of the arrays that the function closes over, and the arrays.
      invars: the arguments.
      eqns: the equations, in order.
      outvars: the results, variables or literals.
      effects: the side effects of all equations.

    Example:
      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> jaxpr = ricci.make_jaxpr(lambda x: jnp.sin(x) * 2.0)(1.0)
      >>> [eqn.primitive.name for eqn in jaxpr.eqns]
      ['sin', 'mul']
      >>> jaxpr.in_avals, len(jaxpr.consts)
      ([ShapedArray(float32[], weak_type=True)], 0)
    """

    __slots__ = (
        "__weakref__",
        "_derived",
        "consts",
        "constvars",
        "debug_info",
        "effects",
        "eqns",
        "invars",
        "outvars",
    )

    def __init__(
        self,
        constvars: "Sequence[Var] | Jaxpr",
        invars: Sequence[Any] = (),
        outvars: Sequence[Atom] = (),
        eqns: Sequence[JaxprEqn] = (),
        effects: frozenset[Any] = no_effects,
        debug_info: DebugInfo = unknown_debug_info,
        consts: Sequence[Any] = (),
    ):
        if isinstance(constvars, Jaxpr):  # a jaxpr and its constants: ``Jaxpr(jaxpr, consts)``
            jaxpr, consts = constvars, invars
            constvars, invars, outvars = jaxpr.constvars, jaxpr.invars, jaxpr.outvars
            eqns, effects, debug_info = jaxpr.eqns, jaxpr.effects, jaxpr.debug_info
        self.constvars: list[Any] = list(constvars)
        self.invars: list[Any] = list(invars)
        self.outvars: list[Atom] = list(outvars)
        self.eqns: list[JaxprEqn] = list(eqns)
        self.effects: frozenset[Any] = effects
        self.debug_info: DebugInfo = debug_info
        self.consts: list[Any] = list(consts)
        self._derived: Cache[Hashable, Any] | None = None  # created by ``derived``

    @property
    def jaxpr(self) -> "Jaxpr":
        """The jaxpr itself: Ricci does not distinguish closed jaxprs."""
        return self

    @property
    def in_avals(self) -> list[AbstractValue]:
        """The types of the arguments."""
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[AbstractValue]:
        """The types of the results."""
        return [v.aval for v in self.outvars]

    @property
    def literals(self) -> list[Any]:
        """Another name of ``consts``."""
        return self.consts

    @property
    def num_consts(self) -> int:
        """The number of constants."""
        return len(self.consts)

    @property
    def all_invars(self) -> list[Var]:
        """The variables of the constants, then those of the arguments."""
        return [*self.constvars, *self.invars]

    def derived[R](self, key: Hashable, build: Callable[[], R]) -> R:
        """Return the value of ``build()``, cached in this jaxpr under a key.

        The transposed, batched and compiled forms of a jaxpr are cached this way, and die with it.
        """
        table = self._derived
        if table is None:
            # Two threads must not make two tables, of which one would lose its entries.
            with _lock:
                table = self._derived
                if table is None:
                    table = self._derived = Cache("forms of programs", 1024)
        value = table.entries.get(key)
        return table.make(key, build) if value is None else value

    def clear_derived(self) -> None:
        """Drop all derived forms."""
        if self._derived is not None:
            self._derived.clear()

    def replace(self, *, jaxpr: "Jaxpr | None" = None, **changes: object) -> "Jaxpr":
        """A copy with some of the fields replaced.

        Args:
          jaxpr: a jaxpr to take all fields from but the constants.
          changes: the fields.
        """
        source = self if jaxpr is None else jaxpr
        names = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info")
        fields = {name: getattr(source, name) for name in names}
        return Jaxpr(**{**fields, "consts": self.consts, **changes})

    def with_consts(self, consts: Sequence[Any]) -> "Jaxpr":
        """The same jaxpr closed over other arrays."""
        return self.replace(consts=consts)

    def pretty_print(
        self,
        *,
        source_info: bool = False,
        print_shapes: bool = True,
        custom_pp_eqn_rules: bool = True,
        name_stack: bool = False,
        print_effects: bool = False,
        use_color: bool = False,
        width: int = 80,
        **ignored: object,
    ) -> str:
        """The jaxpr as text.

        Args:
          source_info: add the place in the user's code that each equation comes from.
          print_shapes: print each variable's type where it is bound.
          custom_pp_eqn_rules: omit parameters that have their default value.
          name_stack: add the ``named_scope`` that each equation was traced in.
          print_effects: list the jaxpr's side effects.
          use_color: use a terminal's colours.
          width: the number of columns of a line.
        """
        options = {
            "source_info": source_info,
            "print_shapes": print_shapes,
            "custom_rules": custom_pp_eqn_rules,
            "name_stack": name_stack,
            "print_effects": print_effects,
        }
        return jaxpr_printer.call(self, options, use_color=use_color, width=width)

    def __repr__(self) -> str:
        return jaxpr_printer.call(self, {})

    def __copy__(self) -> "Jaxpr":
        return self.replace()

    def __getstate__(self) -> NoReturn:
        raise TypeError("a jaxpr cannot be pickled; export the function instead")


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among an equation's parameters, alone or in tuples.

    Args:
      params: the parameters.

    Returns:
      The jaxprs, one after the other.

    Example:
      >>> import ricci
      >>> from ricci.extend.core import jaxprs_in_params
      >>> jaxpr = ricci.make_jaxpr(lambda x: ricci.jit(lambda x: x + 1.0)(x))(0.0)
      >>> len(list(jaxprs_in_params(jaxpr.eqns[0].params)))
      1
    """
    for value in params.values():
        for item in value if isinstance(value, tuple | list) else (value,):
            if isinstance(item, Jaxpr):
                yield item


def count_equations(eqns: Iterable[JaxprEqn]) -> int:
    """Count equations, with those of the jaxprs that they hold, as often as they hold them.

    Args:
      eqns: the equations.

    Returns:
      The number.

    Example:
      >>> import ricci
      >>> from ricci_ir import count_equations
      >>> jaxpr = ricci.make_jaxpr(lambda x: ricci.jit(lambda x: x + 1.0)(x))(0.0)
      >>> count_equations(jaxpr.eqns)
      2
    """
    inner = lambda eqn: (count_equations(jaxpr.eqns) for jaxpr in jaxprs_in_params(eqn.params))
    return sum(1 + sum(inner(eqn)) for eqn in eqns)


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs inside a jaxpr's equations, one level down.

    Args:
      jaxpr: the jaxpr.

    Returns:
      The jaxprs, one after the other.

    Example:
      >>> import ricci
      >>> from ricci.extend.core import subjaxprs
      >>> jaxpr = ricci.make_jaxpr(lambda x: ricci.jit(lambda x: x + 1.0)(x))(0.0)
      >>> len(list(subjaxprs(jaxpr)))
      1
    """
    for eqn in jaxpr.eqns:
        yield from jaxprs_in_params(eqn.params)


def convert_constvars(jaxpr: Jaxpr) -> Jaxpr:
    """The jaxpr with its constants as leading arguments.

    Args:
      jaxpr: the jaxpr.

    Returns:
      A jaxpr without constants.

    Example:
      >>> import numpy as np
      >>> import ricci
      >>> from ricci.interpreters.partial_eval import convert_constvars_jaxpr
      >>> table = ricci.numpy.arange(100)
      >>> jaxpr = ricci.make_jaxpr(lambda x: x + table)(1)
      >>> len(jaxpr.invars), len(convert_constvars_jaxpr(jaxpr).invars)
      (1, 2)
    """
    if not jaxpr.constvars:
        return jaxpr
    return jaxpr.derived(
        "convert_constvars",
        lambda: jaxpr.replace(constvars=(), consts=(), invars=[*jaxpr.constvars, *jaxpr.invars]),
    )
