"""Elementwise functions of two arrays that are one operation after promotion.

Each is a row of a table: its name, the operation, what it computes, and an example.
"""

from collections.abc import Callable

import numpy as np

import ricci_lax as lax
from ricci_ir import (
    BOOL,
    Array,
    ArrayLike,
    Primitive,
    array_dtypes,
    dispatched,
    function_alias,
    get_aval,
    inlined,
)
from ricci_lax.authoring import BinaryFunction
from ricci_numpy import _promotion as promotion
from ricci_numpy.arrays._broadcasting import select_where

from ._factories import BOOLEANS, FLOATS, PROMOTED, binary, in_one_step, publish
from ._unary import EXACT_DTYPES, UNSIGNED_DTYPES, truth

__all__ = ["arctan2", "atan2", "bitwise_left_shift", "bitwise_right_shift", "divide", "equal"]
__all__ += ["greater", "greater_equal", "left_shift", "less", "less_equal", "nextafter"]
__all__ += ["not_equal", "right_shift", "true_divide"]

Operation = Callable[..., Array]

# For each function: its operation, the dtypes that need no promotion, and the function that
# promotes first. The operators of arrays are built from these, too.
general_forms: dict[str, tuple[Operation, frozenset, Operation]] = {}


def _row(
    name: str,
    operation: Operation,
    accepted: frozenset,
    general: Operation,
    summary: str,
    example: str,
    parameters: tuple[str, ...],
) -> BinaryFunction:
    general = in_one_step(name, general)
    # Where all operands are arrays of one accepted dtype the operation is bound at once;
    # ``general`` is the slow path that converts.
    general_forms[name] = operation, accepted, general
    arguments, result = example.split(" -> ")
    kind = "bool" if result in ("True", "False") else "int"
    text = f"{kind}(jnp.{name}({arguments}))"
    function = binary(operation, accepted, general)
    gives = (
        BOOLEANS if kind == "bool" else FLOATS if accepted is promotion.INEXACT_DTYPES else PROMOTED
    )
    return dispatched()(publish(function, name, summary, text, result, *parameters, gives=gives))


def _numbers(
    name: str,
    operation: Operation,
    accepted: frozenset,
    summary: str,
    example: str,
    promote: Callable[..., list[Array]] = promotion.promote_args,
    parameters: tuple[str, ...] = ("x1", "x2"),
) -> BinaryFunction:
    def general(x, y):
        return operation(*promote(name, x, y))

    return _row(name, operation, accepted, general, summary, example, parameters)


def _is_boolean(x: ArrayLike) -> bool:
    return type(x) is bool or getattr(x, "dtype", None) == BOOL


def _or_for_booleans(
    name: str, operation: Operation, on_booleans: Operation, summary: str, example: str
) -> BinaryFunction:
    def general(x, y):
        x, y = promotion.promote_args(name, x, y)
        return (on_booleans if _is_boolean(x) else operation)(x, y)

    return _row(name, operation, promotion.NUMERIC_DTYPES, general, summary, example, ("x1", "x2"))


def _shift_right(x: Array, y: Array) -> Array:
    # The sign of a signed integer is shifted in; an unsigned one gets zeros.
    unsigned = getattr(x, "dtype", None) in UNSIGNED_DTYPES
    return (lax.shift_right_logical if unsigned else lax.shift_right_arithmetic)(x, y)


def _ordering(name: str, primitive: Primitive, summary: str, example: str) -> BinaryFunction:
    """A comparison of order; complex numbers compare by real, then by imaginary part."""
    operation: Operation = primitive.bind
    symbol = primitive.name

    def general(x, y):
        # Promotion may change a value, as of a large integer that becomes a float: such operands
        # are compared exactly.
        exact = _by_value(name, symbol, x, y)
        if exact is not None:
            return exact
        x, y = promotion.promote_args(name, x, y)
        if not (np.iscomplexobj(x) or np.iscomplexobj(y)):
            return operation(x, y)
        equal = lax.eq(lax.real(x), lax.real(y))
        imaginary = operation(lax.imag(x), lax.imag(y))
        result = select_where(equal, imaginary, operation(lax.real(x), lax.real(y)), name)
        weak = get_aval(imaginary).weak_type
        return promotion.convert(result, BOOL, weak)

    return _row(name, operation, promotion.REAL_DTYPES, general, summary, example, ("x", "y"))


def _equality(name: str, primitive: Primitive, summary: str, example: str) -> BinaryFunction:
    operation: Operation = primitive.bind
    symbol = primitive.name

    def general(x, y):
        exact = _by_value(name, symbol, x, y)
        return operation(*promotion.promote_args(name, x, y)) if exact is None else exact

    return _row(name, operation, array_dtypes, general, summary, example, ("x", "y"))


def _by_value(name: str, symbol: str, x: ArrayLike, y: ArrayLike) -> Array | None:
    """The comparison by value, where promotion would change an operand; ``None`` elsewhere."""
    from ._mixed_comparison import compared_by_value  # noqa: PLC0415 - lazy: few types differ

    return compared_by_value(name, symbol, x, y)


def _logical(name: str, operation: Operation, summary: str, example: str) -> BinaryFunction:
    step = inlined(name)(lambda x, y: operation(truth(x), truth(y)))

    def general(x, y):
        return step(*promotion.promote_args(name, x, y))

    return _row(name, operation, frozenset({BOOL}), general, summary, example, ("x1", "x2"))


_XY = ("x", "y")

add: BinaryFunction = _or_for_booleans(
    "add", lax.add_p.bind, lax.or_p.bind, "The sum; of booleans, whether either holds.", "1, 2 -> 3"
)
multiply: BinaryFunction = _or_for_booleans(
    "multiply",
    lax.mul_p.bind,
    lax.and_p.bind,
    "The product; of booleans, whether both hold.",
    "2, 3 -> 6",
)
subtract: BinaryFunction = _numbers(
    "subtract", lax.sub_p.bind, promotion.NUMERIC_DTYPES, "The difference.", "3, 2 -> 1"
)
divide: BinaryFunction = _numbers(
    "divide",
    lax.div_p.bind,
    promotion.INEXACT_DTYPES,
    "The quotient, as a float or a complex number.",
    "6, 2 -> 3",
    promotion.promote_args_inexact,
)
true_divide: BinaryFunction = function_alias(divide, "true_divide")
arctan2: BinaryFunction = _numbers(
    "arctan2",
    lax.atan2_p.bind,
    promotion.INEXACT_DTYPES,
    "The angle of the point (x2, x1), in radians from -pi to pi: the ordinate comes first.",
    "0, 1 -> 0",
    promotion.promote_args_inexact,
)
atan2: BinaryFunction = function_alias(arctan2, "atan2")
nextafter: BinaryFunction = _numbers(
    "nextafter",
    lax.nextafter_p.bind,
    promotion.FLOAT_DTYPES,
    "The float next to ``x`` on the way to ``y``.",
    "1.0, 1.0 -> 1",
    promotion.promote_args_inexact,
    _XY,
)
maximum: BinaryFunction = _numbers(
    "maximum", lax.max_p.bind, array_dtypes, "The larger one; NaN if either is NaN.", "2, 3 -> 3"
)
minimum: BinaryFunction = _numbers(
    "minimum", lax.min_p.bind, array_dtypes, "The smaller one; NaN if either is NaN.", "2, 3 -> 2"
)
bitwise_and: BinaryFunction = _numbers(
    "bitwise_and", lax.and_p.bind, EXACT_DTYPES, "The bits set in both.", "6, 3 -> 2"
)
bitwise_or: BinaryFunction = _numbers(
    "bitwise_or", lax.or_p.bind, EXACT_DTYPES, "The bits set in either.", "6, 3 -> 7"
)
bitwise_xor: BinaryFunction = _numbers(
    "bitwise_xor", lax.xor_p.bind, EXACT_DTYPES, "The bits set in only one.", "6, 3 -> 5"
)
left_shift: BinaryFunction = _numbers(
    "left_shift",
    lax.shift_left_p.bind,
    promotion.INTEGER_DTYPES,
    "The bits of ``x`` moved up by ``y`` places.",
    "3, 2 -> 12",
    promotion.promote_args_numeric,
    _XY,
)
right_shift: BinaryFunction = _numbers(
    "right_shift",
    _shift_right,
    promotion.INTEGER_DTYPES,
    "The bits of ``x1`` moved down by ``x2`` places; the sign stays.",
    "12, 2 -> 3",
    promotion.promote_args_numeric,
)
bitwise_left_shift: BinaryFunction = function_alias(left_shift, "bitwise_left_shift")
bitwise_right_shift: BinaryFunction = function_alias(right_shift, "bitwise_right_shift")
equal: BinaryFunction = _equality(
    "equal", lax.eq_p, "Whether two elements are equal.", "2, 2 -> True"
)
not_equal: BinaryFunction = _equality(
    "not_equal", lax.ne_p, "Whether two elements differ.", "2, 2 -> False"
)
less: BinaryFunction = _ordering(
    "less", lax.lt_p, "Whether ``x`` is smaller than ``y``.", "2, 3 -> True"
)
less_equal: BinaryFunction = _ordering(
    "less_equal", lax.le_p, "Whether ``x`` is at most ``y``.", "2, 3 -> True"
)
greater: BinaryFunction = _ordering(
    "greater", lax.gt_p, "Whether ``x`` is larger than ``y``.", "2, 3 -> False"
)
greater_equal: BinaryFunction = _ordering(
    "greater_equal", lax.ge_p, "Whether ``x`` is at least ``y``.", "2, 3 -> False"
)
logical_and: BinaryFunction = _logical(
    "logical_and", lax.and_p.bind, "Whether both are not zero.", "2, 0 -> False"
)
logical_or: BinaryFunction = _logical(
    "logical_or", lax.or_p.bind, "Whether either is not zero.", "2, 0 -> True"
)
logical_xor: BinaryFunction = _logical(
    "logical_xor", lax.xor_p.bind, "Whether just one is not zero.", "2, 0 -> True"
)
