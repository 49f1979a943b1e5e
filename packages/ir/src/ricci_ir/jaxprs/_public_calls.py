"""Public functions whose eager calls are dispatched by the types of their arguments.

A public function checks and normalizes its arguments in Python before it applies an operation. All
of that depends on the arguments' types and on its settings alone, so a backend may skip it for
arguments like those of earlier calls: it runs the executable at once. The boundary of a function
that is marked with ``dispatched`` asks the backend first; errors, tracers and recordings never come
from there, since only calls that have returned arrays are cached.
"""

from collections.abc import Callable
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from ricci_ir._cache import Cache
from ricci_ir._config import numpy_rank_promotion
from ricci_ir._function_copies import DISPATCHED
from ricci_ir._records import TupleRecord
from ricci_ir._settings import trace_key
from ricci_ir._source import no_origin, withheld_warnings
from ricci_ir._static_values import exact_key
from ricci_ir.traces import Backend, as_result
from ricci_ir.traces._backend import Applied
from ricci_ir.traces._primitive import eager_rules
from ricci_ir.types import get_aval
from ricci_pytree import PyTreeDef, tree_flatten, tree_unflatten

from ._by_function import is_value
from ._jaxpr import DebugInfo, Jaxpr, jaxprs_in_params
from ._staged_call import host_rules, program_rules, staged_call
from ._staged_functions import single_equation
from ._staging import trace_to_jaxpr

__all__ = ["dispatched", "PublicFunction"]


class PublicProgram(TupleRecord):
    """A public function traced for arguments of some types.

    Attributes:
      jaxpr: its jaxpr, closed over the constants; the one of the operation that it applies where it
        applies no other, so that both share an executable.
      tree: the structure of its result.
      keep_unused: whether operands that the jaxpr does not use are passed on: in an operation of
        several steps they still determine the device.
    """

    jaxpr: Jaxpr
    tree: PyTreeDef
    keep_unused: bool


_FUNCTIONS = FunctionType, MethodType, BuiltinFunctionType, partial

# Programs by function, types, settings and ``trace_key``; ``()`` where a function cannot be traced.
_programs: Cache[Any, PublicProgram | tuple[()]] = Cache("public functions", 4096)


class PublicCall(TupleRecord):
    """The arguments of a call of a public function.

    Attributes:
      operands: the arrays.
      tree: the positional and the named arguments with operands as leaves; settings are ``None``.
      positional, named: the settings, by position and by name.
      key: the types of the operands, and the settings with their types.
    """

    operands: list[Any]
    tree: PyTreeDef
    positional: dict[int, Any]
    named: dict[str, Any]
    key: Any


class PublicFunction(Applied):
    """A public function whose value depends on its operands' values by operations alone.

    Args:
      fun: the function.
      name: its name.
      settings: the names of its parameters that are not operands. They are compared by value and
        type.
      watched: a function whose calls a library must see once it has replaced its code: from then on
        the function itself is called; ``None`` if there is none.
      integers: the names of operands whose integers are values like all others.
    """

    __slots__ = (
        "converts",
        "fun",
        "integers",
        "name",
        "setting_names",
        "setting_numbers",
        "watched",
        "watched_code",
        "without_choice",
    )

    def __init__(
        self,
        fun: Callable[..., Any],
        name: str,
        settings: tuple[str, ...] = (),
        watched: Callable[..., Any] | None = None,
        integers: tuple[str, ...] = (),
    ):
        super().__init__()
        self.integers = integers
        self.watched: Any = watched
        self.watched_code: object = getattr(watched, "__code__", None)
        self.fun = fun
        self.name = name
        # Whether literals among the results become arrays: see ``may_return_operand``.
        self.converts: bool = "may_return_operand" in fun.__dict__
        self.setting_names = settings
        parameters = fun.__code__.co_varnames[: fun.__code__.co_argcount]
        self.setting_numbers: tuple[int, ...] = tuple(
            [i for i, parameter in enumerate(parameters) if parameter in settings]
        )
        # The parameters, by position and by name, whose Python integers do not change the jaxpr.
        names = {*settings, *integers}
        self.without_choice: frozenset[int | str] = frozenset(
            [*names, *(i for i, parameter in enumerate(parameters) if parameter in names)]
        )

    def renamed(self, fun: Callable[..., Any]) -> "PublicFunction":
        """Return the calls of a copy of the function, whose errors have the copy's name."""
        return PublicFunction(fun, fun.__name__, self.setting_names, self.watched, self.integers)

    def _make_application(self, backend: Backend) -> Callable[..., Any]:
        return backend.public_dispatcher(self) or self._call

    def _call(self, *args: object, **kwargs: object) -> object:
        return self.apply(args, kwargs)

    def apply(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Call the function as it is, in the current trace."""
        fun = self.fun  # hints on Python's messages are those of the functions in this frame
        result = fun(*args, **kwargs)
        return as_result(result) if self.converts else result

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> PublicCall | None:
        """Separate the operands from the settings.

        Returns:
          ``None`` where an operand is not an array, or where each call must run the function, since
          it may warn, or since a setting may change: an object with ``__index__`` is compared by
          identity, and a function may have side effects.
        """
        if numpy_rank_promotion.value != "allow":
            return None
        positional = {i: args[i] for i in self.setting_numbers if i < len(args)}
        named = {name: kwargs[name] for name in self.setting_names if name in kwargs}
        values = (*positional.values(), *named.values())
        if not all(map(is_value, values)) or any(isinstance(x, _FUNCTIONS) for x in values):
            return None
        arguments = (
            tuple(None if i in positional else x for i, x in enumerate(args)),
            {name: x for name, x in kwargs.items() if name not in named},
        )
        operands, tree = tree_flatten(arguments)
        try:
            types = tuple(map(get_aval, operands))
        except (TypeError, ValueError, OverflowError):  # the function tells the user
            return None
        settings = tuple((i, exact_key(x)) for i, x in (*positional.items(), *named.items()))
        return PublicCall(operands, tree, positional, named, (tree, types, settings))

    def program(self, call: PublicCall) -> PublicProgram | None:
        """Return the jaxpr for arguments of these types; ``None`` if the function has none."""
        key = (self, call.key, trace_key())
        return _programs.make(key, self._trace, call) or None

    def _trace(self, call: PublicCall) -> PublicProgram | tuple[()]:
        tree: Any = None

        def flat(*tracers):
            nonlocal tree
            args, kwargs = tree_unflatten(call.tree, tracers)
            args = [call.positional.get(i, x) for i, x in enumerate(args)]
            leaves, tree = tree_flatten(self.fun(*args, **kwargs, **call.named))
            return leaves

        avals: Any = [get_aval(x) for x in call.operands]
        try:
            with withheld_warnings() as messages:
                jaxpr = trace_to_jaxpr(flat, avals, DebugInfo("jit", self.name), no_origin)
        except Exception:  # noqa: BLE001 - a call of the function itself raises it, or needs values
            return ()
        if messages:  # each call of the function warns
            return ()
        results = {var for eqn in jaxpr.eqns for var in eqn.outvars}
        if jaxpr.effects or not jaxpr.outvars or not results.issuperset(jaxpr.outvars):
            return ()
        operation = _only_operation(jaxpr)
        return PublicProgram(jaxpr, tree, True) if operation is None else operation(tree)


def _only_operation(jaxpr: Jaxpr) -> Callable[[PyTreeDef], PublicProgram] | None:
    """Return the program of the operation that a jaxpr applies, if it does nothing else.

    It is the jaxpr that the backend compiles for the operation itself: that of a composite, or one
    of a single equation.
    """
    if len(jaxpr.eqns) != 1 or jaxpr.consts:
        return None
    (eqn,) = jaxpr.eqns
    if list(eqn.invars) != jaxpr.invars or list(eqn.outvars) != jaxpr.outvars:
        return None
    params = eqn.params
    if eqn.primitive is staged_call.call and "donated_invars" not in params:
        return lambda tree: PublicProgram(params["jaxpr"], tree, True)
    special = program_rules, eager_rules, host_rules
    if any(eqn.primitive in rules for rules in special) or any(jaxprs_in_params(params)):
        return None
    avals = tuple(var.aval for var in eqn.invars)
    single = single_equation(eqn.primitive, avals, params)
    return None if single is None else lambda tree: PublicProgram(single, tree, False)


def dispatched[F: Callable[..., Any]](
    *settings: str, watched: Callable[..., Any] | None = None, integers: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Mark a public function whose calls the backend may dispatch by the types of its arguments.

    The value of an operand must not decide which operations are applied, nor whether an error is
    raised: the function is traced with all of them, as by ``jit``.

    Args:
      settings: the names of its parameters that are not operands, as by ``static_argnames``.
      watched: a function that it calls, of which a library may replace the code to see the calls:
        from then on the function itself is called. Two parameters of the marked one are required.
      integers: the names of operands whose Python integers decide nothing, like floats. Of the
        others, integers are passed to the function in each call.

    Example:
      >>> import ricci.numpy as jnp
      >>> from ricci_ir import dispatched
      >>> @dispatched("n")
      ... def shifted(x, n=1):
      ...     return x + n
    """

    def mark(fun: F) -> F:
        fun.__dict__[DISPATCHED] = PublicFunction(fun, fun.__name__, settings, watched, integers)
        return fun

    return mark
