"""The rules of elementwise operations."""

from collections.abc import Callable

import numpy as np

import ricci_ir as ir
import ricci_lax as lax

from ._writer import FAST, INT32, WRAP, Value, Writer, bits_of, kind_of, mosaic_rules

# By primitive, the operation on floats, on signed and on unsigned integers, and on booleans.
_BINARY: dict[ir.Primitive, tuple[str, ...]] = {
    lax.add_p: ("addf", "addi", "addi", ""),
    lax.add_any_p: ("addf", "addi", "addi", ""),
    lax.sub_p: ("subf", "subi", "subi", ""),
    lax.mul_p: ("mulf", "muli", "muli", "andi"),
    lax.div_p: ("divf", "divsi", "divui", ""),
    lax.rem_p: ("remf", "remsi", "remui", ""),
    lax.max_p: ("maximumf", "maxsi", "maxui", "ori"),
    lax.min_p: ("minimumf", "minsi", "minui", "andi"),
    lax.and_p: ("", "andi", "andi", "andi"),
    lax.or_p: ("", "ori", "ori", "ori"),
    lax.xor_p: ("", "xori", "xori", "xori"),
    lax.shift_left_p: ("", "shli", "shli", ""),
    lax.shift_right_logical_p: ("", "shrui", "shrui", ""),
    lax.shift_right_arithmetic_p: ("", "shrsi", "shrsi", ""),
}
_WRAPPING = frozenset({"addi", "subi", "muli", "shli"})

# On floats, and on integers.
_UNARY: dict[ir.Primitive, tuple[str, str]] = {
    lax.abs_p: ("math.absf", "math.absi"),
    lax.exp_p: ("math.exp", ""),
    lax.exp2_p: ("math.exp2", ""),
    lax.log_p: ("math.log", ""),
    lax.log1p_p: ("math.log1p", ""),
    lax.sqrt_p: ("math.sqrt", ""),
    lax.rsqrt_p: ("math.rsqrt", ""),
    lax.sin_p: ("math.sin", ""),
    lax.cos_p: ("math.cos", ""),
    lax.tan_p: ("math.tan", ""),
    lax.tanh_p: ("math.tanh", ""),
    lax.floor_p: ("math.floor", ""),
    lax.ceil_p: ("math.ceil", ""),
    lax.logistic_p: ("tpu.logistic", ""),
    lax.erf_p: ("math.erf", ""),
    lax.population_count_p: ("", "math.ctpop"),
    lax.clz_p: ("", "math.ctlz"),
}

_COMPARISONS: dict[ir.Primitive, str] = {
    lax.eq_p: "eq",
    lax.ne_p: "ne",
    lax.lt_p: "lt",
    lax.le_p: "le",
    lax.gt_p: "gt",
    lax.ge_p: "ge",
}


def arithmetic(ctx: Writer, primitive: ir.Primitive, x: Value, y: Value) -> Value:
    """Write a binary operation on values of one shape and dtype."""
    if not x.shape and kind_of(x.dtype) == "f" and bits_of(x.dtype) < 32:
        # Scalar units compute in float32.
        wide = [converted(ctx, v, np.dtype("float32")) for v in (x, y)]
        return converted(ctx, arithmetic(ctx, primitive, *wide), x.dtype)
    name = _BINARY[primitive]["fiub".index(kind_of(x.dtype))]
    if not name:
        raise ctx.refuse(f"it is not defined on {x.dtype}. Convert the operands.")
    # Operations of floats and those that may overflow have a required attribute.
    attributes = FAST if name.endswith("f") else WRAP if name in _WRAPPING else ""
    return ctx.emit(f"arith.{name}", [x, y], x.aval, attributes)


def _widened(ctx: Writer, x: Value) -> Value:
    """Integers of fewer than 32 bits as int32 or uint32, which a TPU computes with."""
    kind = kind_of(x.dtype)
    if kind not in "iu" or bits_of(x.dtype) >= 32:
        return x
    return converted(ctx, x, np.dtype("int32" if kind == "i" else "uint32"))


def _binary(primitive: ir.Primitive) -> Callable[..., Value]:
    def rule(ctx: Writer, x: Value, y: Value, **_: object) -> Value:
        out = ctx.out
        x, y = (_widened(ctx, ctx.broadcast(v, out.shape)) for v in (x, y))
        return converted(ctx, arithmetic(ctx, primitive, x, y), out.dtype)

    return rule


def _unary(names: tuple[str, str]) -> Callable[..., Value]:
    def rule(ctx: Writer, x: Value, **_: object) -> Value:
        if kind_of(x.dtype) != "f":
            if not names[1]:
                raise ctx.refuse("its operand is not a float. Convert it with astype.")
            wide = _widened(ctx, x)
            return converted(ctx, ctx.emit(names[1], [wide], wide.aval), x.dtype)
        if not names[0]:
            raise ctx.refuse("its operand is not an integer. Convert it with astype.")
        # Vector units compute transcendental functions in float32.
        wide = converted(ctx, x, np.dtype("float32"))
        return converted(ctx, ctx.emit(names[0], [wide], wide.aval, FAST), x.dtype)

    return rule


def _comparison(direction: str) -> Callable[..., Value]:
    def rule(ctx: Writer, x: Value, y: Value, **_: object) -> Value:
        shape = ctx.out.shape
        x, y = (_widened(ctx, ctx.broadcast(v, shape)) for v in (x, y))
        if kind_of(x.dtype) == "b":
            x, y = ctx.as_int(x), ctx.as_int(y)
        if kind_of(x.dtype) == "f" and bits_of(x.dtype) < 32:
            x, y = (converted(ctx, v, np.dtype("float32")) for v in (x, y))
        return ctx.compare(x, y, direction)

    return rule


def converted(ctx: Writer, x: Value, dtype: np.dtype) -> Value:
    """Convert a value to a dtype, as ``convert_element_type``."""
    old, new = np.dtype(x.dtype), np.dtype(dtype)
    if old == new:
        return x
    source, target = kind_of(old), kind_of(new)
    aval = ir.ShapedArray(x.shape, new)
    # A scalar of 64 bits is one of 32 bits on a TPU.
    old_bits, new_bits = (32 if b == 64 else b for b in (bits_of(old), bits_of(new)))
    emit = lambda name, to=aval, attributes="": ctx.emit(name, [x], to, attributes)
    if target == "b":
        return ctx.compare(x, ctx.full(x.shape, 0, old), "ne")
    if source == "b":
        return converted(ctx, ctx.as_int(x), new)
    if source == "f" and target == "f":
        if old_bits == new_bits == 32:  # a scalar of 64 bits
            return Value(x.name, aval)
        # Conversions go by way of 32 bits, as the units have no direct ones between narrow types.
        if 32 not in (old_bits, new_bits):
            return converted(ctx, converted(ctx, x, np.dtype("float32")), new)
        return emit("arith.extf" if old_bits < new_bits else "arith.truncf")
    if source == "f":
        if old_bits < 32:
            return converted(ctx, converted(ctx, x, np.dtype("float32")), new)
        if new_bits < 32:
            return converted(ctx, converted(ctx, x, np.dtype("int32")), new)
        return emit("arith.fptosi" if target == "i" else "arith.fptoui")
    if target == "f":
        if new_bits < 32 and x.shape:
            return converted(ctx, converted(ctx, x, np.dtype("float32")), new)
        if old_bits < 32:
            wide = np.dtype("int32" if source == "i" else "uint32")
            return converted(ctx, converted(ctx, x, wide), new)
        return emit("arith.sitofp" if source == "i" else "arith.uitofp")
    if old_bits == new_bits:
        return Value(x.name, aval)
    if old_bits > new_bits:
        return emit("arith.trunci", attributes=WRAP)
    return emit("arith.extsi" if source == "i" else "arith.extui")


def _select(ctx: Writer, which: Value, *cases: Value) -> Value:
    shape = ctx.out.shape
    cases = tuple([ctx.broadcast(x, shape) for x in cases])
    if kind_of(which.dtype) != "b":
        # A choice among several is a chain of choices of two.
        chosen = cases[-1]
        for i in range(len(cases) - 2, -1, -1):
            flag = ctx.compare(which, ctx.full(which.shape, i, which.dtype), "eq")
            chosen = choose(ctx, flag, cases[i], chosen)
        return chosen
    return choose(ctx, which, cases[1], cases[0])


def choose(ctx: Writer, flag: Value, x: Value, y: Value) -> Value:
    """Write the choice of ``x`` where a flag holds, else of ``y``."""
    if kind_of(x.dtype) == "b":
        if flag.shape != x.shape:
            flag = ctx.broadcast(flag, x.shape)
        # Masks are not selected by masks: (flag ∧ x) ∨ (¬flag ∧ y).
        chosen = ctx.emit("arith.andi", [flag, x], x.aval)
        other = ctx.emit("arith.andi", [inverted(ctx, flag), y], x.aval)
        return ctx.emit("arith.ori", [chosen, other], x.aval)
    if flag.shape and flag.shape != x.shape:
        flag = ctx.broadcast(flag, x.shape)
    return ctx.emit("arith.select", [flag, x, y], x.aval)


def inverted(ctx: Writer, flag: Value) -> Value:
    """Write the negation of booleans."""
    return ctx.emit("arith.xori", [flag, ctx.full(flag.shape, True, flag.dtype)], flag.aval)


def _not(ctx: Writer, x: Value, **_: object) -> Value:
    if kind_of(x.dtype) == "b":
        return inverted(ctx, x)
    wide = _widened(ctx, x)
    ones = ctx.full(wide.shape, -1, INT32)
    # Types have no sign in the text: the constant serves for unsigned numbers, too.
    ones.aval = wide.aval
    return converted(ctx, ctx.emit("arith.xori", [wide, ones], wide.aval), x.dtype)


def _neg(ctx: Writer, x: Value, **_: object) -> Value:
    if kind_of(x.dtype) == "f":
        # 0 - x has the wrong sign for a zero.
        return arithmetic(ctx, lax.mul_p, x, ctx.full(x.shape, -1, x.dtype))
    wide = _widened(ctx, x)
    zero = ctx.full(wide.shape, 0, wide.dtype)
    return converted(ctx, arithmetic(ctx, lax.sub_p, zero, wide), x.dtype)


def _round(ctx: Writer, x: Value, *, rounding_method: lax.RoundingMethod, **_: object) -> Value:
    is_even = rounding_method == lax.RoundingMethod.TO_NEAREST_EVEN
    return _unary(("math.roundeven" if is_even else "math.round", ""))(ctx, x)


def _clamp(ctx: Writer, low: Value, x: Value, high: Value, **_: object) -> Value:
    bounded = arithmetic(ctx, lax.max_p, x, ctx.broadcast(low, x.shape))
    return arithmetic(ctx, lax.min_p, bounded, ctx.broadcast(high, x.shape))


def _bitcast(ctx: Writer, x: Value, **_: object) -> Value:
    out = ctx.out
    if bits_of(x.dtype) != bits_of(out.dtype):
        raise ctx.refuse(
            f"it changes the width from {x.dtype} to {out.dtype}. Use pltpu.bitcast, which joins "
            "rows."
        )
    if kind_of(x.dtype) in "iu" and kind_of(out.dtype) in "iu":
        return Value(x.name, out)
    return ctx.emit("tpu.bitcast" if x.shape else "arith.bitcast", [x], out)


def _rem(ctx: Writer, x: Value, y: Value, **_: object) -> Value:
    # The remainder of narrow floats in float32 is one of them.
    if kind_of(x.dtype) == "f":
        return _math("arith.remf")(ctx, x, y)
    return _binary(lax.rem_p)(ctx, x, y)


def _math(name: str) -> Callable[..., Value]:
    def rule(ctx: Writer, x: Value, y: Value, **_: object) -> Value:
        out = ctx.out
        wide = [converted(ctx, ctx.broadcast(v, out.shape), np.dtype("float32")) for v in (x, y)]
        return converted(ctx, ctx.emit(name, wide, wide[0].aval, FAST), out.dtype)

    return rule


def _convert(ctx: Writer, x: Value, *, new_dtype: np.dtype, **_: object) -> Value:
    return converted(ctx, x, new_dtype)


def _reduce_precision(ctx: Writer, x: Value, **params: object) -> Value:
    fields = [f"{name} = {params[name]} : i32" for name in ("exponent_bits", "mantissa_bits")]
    return ctx.emit("tpu.reduce_precision", [x], x.aval, ", ".join(fields))


def _same(ctx: Writer, *operands: Value, **_: object) -> Value | list[Value]:
    return list(operands) if ctx.eqn.primitive.multiple_results else operands[0]


for _primitive in _BINARY:
    mosaic_rules[_primitive] = _binary(_primitive)
for _primitive, _names in _UNARY.items():
    mosaic_rules[_primitive] = _unary(_names)
for _primitive, _direction in _COMPARISONS.items():
    mosaic_rules[_primitive] = _comparison(_direction)
mosaic_rules.update(
    {
        lax.atan2_p: _math("math.atan2"),
        lax.bitcast_convert_type_p: _bitcast,
        lax.clamp_p: _clamp,
        lax.convert_element_type_p: _convert,
        lax.neg_p: _neg,
        lax.not_p: _not,
        lax.pow_p: _math("math.powf"),
        lax.reduce_precision_p: _reduce_precision,
        lax.rem_p: _rem,
        lax.round_p: _round,
        lax.select_n_p: _select,
    }
)
for _name in ("copy", "name", "optimization_barrier", "pvary", "reshard", "stop_gradient"):
    if _name in ir.primitives:
        mosaic_rules[ir.primitives[_name]] = _same
