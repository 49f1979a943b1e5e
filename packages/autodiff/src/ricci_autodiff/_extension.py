"""Derivative rules given one by one, and the interpreters as code outside of Ricci calls them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ricci_ir import (
    AbstractValue,
    Jaxpr,
    Primitive,
    WrappedFun,
    eval_jaxpr,
    get_aval,
    trace_to_jaxpr,
    transformation2,
)

from ._jvp import jvp_flat
from ._partial import split_jaxpr
from ._rules import (
    is_undefined_primal,
    jvp_rules,
    linear,
    per_operand,
    per_operand_with_result,
    transpose_rules,
)
from ._tangent import Zero, instantiate, vector_space
from ._transpose import transpose_flat


def get_primitive_transpose(p: Primitive) -> Callable[..., Any]:
    """The transpose rule of a primitive.

    Raises:
      NotImplementedError: if it has none.
    """
    return transpose_rules[p]


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Give a jvp by partial derivatives: ``rule(tangent, *primals, **params)`` for each operand."""
    jvp_rules.define(primitive, per_operand(*jvprules))


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Like ``defjvp``, with rules ``rule(tangent, result, *primals, **params)``."""
    jvp_rules.define(primitive, per_operand_with_result(*jvprules))


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Say that a primitive is linear: ``transpose_rule(ct, **params)`` gives the cotangents."""
    deflinear2(primitive, lambda ct, *args, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Like ``deflinear``, for ``transpose_rule(ct, *operands, **params)``."""
    jvp_rules.define(primitive, linear)
    transpose_rules[primitive] = transpose_rule


def defbilinear(
    prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]
) -> None:
    """Say that a primitive is linear in each of two operands.

    Args:
      lhs_rule, rhs_rule: ``rule(ct, x, y, **params)`` gives the cotangent of the first and of the
        second operand, of which only the type is known then.
    """

    def transpose(ct, x, y, **params):
        if is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    bind = prim.bind
    jvp_rules.define(
        prim,
        per_operand(
            lambda t, x, y, **params: bind(t, y, **params),
            lambda t, x, y, **params: bind(x, t, **params),
        ),
    )
    transpose_rules[prim] = transpose


def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two tangents."""
    return vector_space.add(x, y)


def zeros_like_aval(aval: Any) -> Any:
    """An array of zeros of a type."""
    return vector_space.zeros(aval)


@transformation2
def _jvp(fun: Callable[..., Any], instantiated: bool, primals: Any, tangents: Any) -> Any:
    results, found = jvp_flat(fun, primals, tangents)
    return tuple(results), tuple(map(instantiate, found) if instantiated else found)


def jvp_fun(fun: WrappedFun, instantiate: bool = True) -> WrappedFun:
    """A function of primals and tangents, two sequences, that returns both, in two tuples.

    Args:
      fun: takes and returns flat sequences of arrays.
      instantiate: whether tangents that are ``Zero`` become arrays.
    """
    return _jvp(fun, instantiate)


def backward_pass(
    jaxpr: Jaxpr,
    transform_stack: bool,
    consts: Sequence[Any],
    primals_in: Sequence[Any],
    cts_in: Any,
) -> list[Any]:
    """Pull cotangents back through a program.

    Args:
      jaxpr: the program, linear in the arguments that are ``UndefinedPrimal``.
      transform_stack: not needed.
      consts: a value for each of its constants.
      primals_in: the arguments.
      cts_in: the results' cotangents.

    Returns:
      A cotangent, or ``Zero``, for each argument.
    """
    linear_args = [is_undefined_primal(x) for x in primals_in]
    found = iter(transpose_flat(jaxpr.with_consts(consts), linear_args, primals_in, cts_in))
    return [
        next(found) if undefined else Zero.from_primal(x)
        for undefined, x in zip(linear_args, primals_in, strict=True)
    ]


class PartialVal(NamedTuple):
    """A value that is known, or of which only the type is: one of the two is ``None``."""

    aval: AbstractValue | None
    value: Any

    @staticmethod
    def known(value: Any) -> "PartialVal":
        """One that is known."""
        return PartialVal(None, value)

    @staticmethod
    def unknown(aval: AbstractValue) -> "PartialVal":
        """One of a type."""
        return PartialVal(aval, None)

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self.aval is None

    def get_known(self) -> Any:
        """The value, or ``None``."""
        return self.value

    def get_aval(self) -> AbstractValue:
        """The type."""
        return get_aval(self.value) if self.aval is None else self.aval


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Compute what follows from the known arguments of a function, and record the rest.

    Args:
      fun: takes and returns flat sequences of arrays.
      pvals: the arguments.
      instantiate: for each result, or for all, whether the program is to give it although it is
        known.

    Returns:
      A program from values that were computed, and then the unknown arguments, to the results
      that are not known; the results; and those values.
    """
    pvals = [PartialVal(*p) for p in pvals]
    jaxpr = trace_to_jaxpr(fun.call_wrapped, [p.get_aval() for p in pvals], fun.debug_info)
    unknown = [not p.is_known() for p in pvals]
    parts = split_jaxpr(jaxpr, unknown)
    wanted = [instantiate] * len(jaxpr.outvars) if isinstance(instantiate, bool) else instantiate
    if any(wanted):
        late = [w or not known for w, known in zip(wanted, parts.known_results, strict=True)]
        parts = split_jaxpr(jaxpr, unknown, late)
    given = [p.value for p in pvals if p.is_known()]
    computed = eval_jaxpr(parts.known, parts.known.consts, *given)
    count = sum(parts.known_results)
    known = iter(computed[:count])
    results = [
        PartialVal.known(next(known)) if is_known else PartialVal.unknown(var.aval)
        for var, is_known in zip(jaxpr.outvars, parts.known_results, strict=True)
    ]
    return parts.unknown, results, computed[count:]
