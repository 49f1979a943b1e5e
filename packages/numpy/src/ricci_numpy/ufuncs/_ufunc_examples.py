"""Examples, notes and see-also entries of elementwise functions.

A function without an example here shows the one in its row.
"""

# By function, the lines that follow ``import ricci.numpy as jnp``.
EXAMPLES = {
    "abs": """\
>>> jnp.abs(jnp.array([-2, 3])).tolist()
[2, 3]
>>> float(jnp.abs(3 + 4j))
5.0
>>> import ricci
>>> float(ricci.grad(jnp.abs)(0.0))  # at the kink, the slope on its right
1.0""",
    "add": """\
>>> jnp.add(jnp.array([[1], [2]]), jnp.array([10, 20])).tolist()
[[11, 21], [12, 22]]
>>> jnp.add(jnp.int8(100), jnp.int8(100))  # integers wrap
Array(-56, dtype=int8)""",
    "arccos": """\
>>> jnp.arccos(jnp.array([1.0, 0.0, 1.5])).round(4)  # NaN outside of [-1, 1]
Array([0.    , 1.5708,    nan], dtype=float32)""",
    "arccosh": """\
>>> jnp.arccosh(jnp.array([1.0, 2.0, 0.5])).round(3)  # NaN below 1
Array([0.   , 1.317,   nan], dtype=float32)""",
    "arcsin": """\
>>> jnp.arcsin(jnp.array([0.5, 1.0, 1.5])).round(4)  # NaN outside of [-1, 1]
Array([0.5236, 1.5708,    nan], dtype=float32)""",
    "arcsinh": """\
>>> jnp.arcsinh(jnp.sinh(jnp.array([-1.0, 2.0]))).round(4).tolist()
[-1.0, 2.0]""",
    "arctan": """\
>>> jnp.arctan(jnp.array([-jnp.inf, 0.0, 1.0])).round(4)
Array([-1.5708,  0.    ,  0.7854], dtype=float32)""",
    "arctan2": """\
>>> y, x = jnp.array([1.0, 1.0, -1.0]), jnp.array([1.0, -1.0, -1.0])
>>> (jnp.arctan2(y, x) * 4 / jnp.pi).round(4).tolist()
[1.0, 3.0, -3.0]""",
    "arctanh": """\
>>> jnp.arctanh(jnp.array([0.0, 0.5, 1.0])).round(4)
Array([0.    , 0.5493,    inf], dtype=float32)""",
    "bitwise_and": """\
>>> jnp.bitwise_and(jnp.array([6, 5]), 3).tolist()
[2, 1]""",
    "bitwise_or": """\
>>> jnp.bitwise_or(jnp.array([6, 5]), 3).tolist()
[7, 7]""",
    "bitwise_xor": """\
>>> jnp.bitwise_xor(jnp.array([6, 5]), 3).tolist()
[5, 6]""",
    "cbrt": """\
>>> jnp.cbrt(jnp.array([-8.0, 27.0])).round(4).tolist()
[-2.0, 3.0]""",
    "ceil": """\
>>> jnp.ceil(jnp.array([1.5, -1.5])).tolist()
[2.0, -1.0]""",
    "conj": """\
>>> jnp.conj(jnp.array([2 + 3j, 1.0]))
Array([2.-3.j, 1.-0.j], dtype=complex64)""",
    "cos": """\
>>> jnp.cos(jnp.array([0.0, jnp.pi / 3, jnp.pi])).round(4).tolist()
[1.0, 0.5, -1.0]""",
    "cosh": """\
>>> jnp.cosh(jnp.array([0.0, 1.0])).round(4)
Array([1.    , 1.5431], dtype=float32)""",
    "deg2rad": """\
>>> jnp.deg2rad(jnp.array([180, 90])).round(4)
Array([3.1416, 1.5708], dtype=float32)""",
    "divide": """\
>>> jnp.divide(jnp.array([7, -7]), 2).tolist()
[3.5, -3.5]
>>> jnp.divide(jnp.array([1.0, 0.0]), 0.0)  # no error: inf, and NaN for 0/0
Array([inf, nan], dtype=float32)""",
    "equal": """\
>>> jnp.equal(jnp.array([1.0, 2.0, jnp.nan]), jnp.array([1.0, 3.0, jnp.nan])).tolist()
[True, False, False]
>>> bool(jnp.equal(0.1 + 0.2, 0.3))  # compared as float32
True""",
    "exp": """\
>>> jnp.exp(jnp.array([0, -jnp.inf])).tolist(), round(float(jnp.exp(1)), 4)
([1.0, 0.0], 2.7183)
>>> float(jnp.exp(100.0))  # above 88.7 for float32
inf""",
    "exp2": """\
>>> jnp.exp2(jnp.array([3, -1])).tolist()
[8.0, 0.5]""",
    "expm1": """\
>>> float(jnp.expm1(1e-10)), float(jnp.exp(1e-10) - 1)
(1.000000013351432e-10, 0.0)""",
    "floor": """\
>>> jnp.floor(jnp.array([1.5, -1.5])).tolist()
[1.0, -2.0]""",
    "greater": """\
>>> jnp.greater(jnp.array([2.0, 3.0, jnp.nan]), 2).tolist()
[False, True, False]""",
    "greater_equal": """\
>>> jnp.greater_equal(jnp.array([2.0, 3.0, jnp.nan]), 2).tolist()
[True, True, False]""",
    "imag": """\
>>> jnp.imag(jnp.array([2 + 3j, 1.0])).tolist()
[3.0, 0.0]""",
    "invert": """\
>>> jnp.invert(jnp.array([0, 5])).tolist()
[-1, -6]
>>> jnp.invert(jnp.array([True, False])).tolist()
[False, True]""",
    "isfinite": """\
>>> x = jnp.array([1.0, jnp.nan, jnp.inf])
>>> jnp.isfinite(x).tolist()
[True, False, False]
>>> bool(jnp.isfinite(x).all())
False""",
    "isinf": """\
>>> jnp.isinf(jnp.array([1.0, jnp.nan, -jnp.inf])).tolist()
[False, False, True]""",
    "isnan": """\
>>> x = jnp.array([1.0, jnp.nan, jnp.inf])
>>> jnp.isnan(x).tolist()
[False, True, False]
>>> jnp.where(jnp.isnan(x), 0.0, x).tolist()
[1.0, 0.0, inf]""",
    "left_shift": """\
>>> jnp.left_shift(1, jnp.arange(5)).tolist()
[1, 2, 4, 8, 16]""",
    "less": """\
>>> jnp.less(jnp.array([1.0, 2.0, jnp.nan]), 2).tolist()
[True, False, False]""",
    "less_equal": """\
>>> jnp.less_equal(jnp.array([1.0, 2.0, jnp.nan]), 2).tolist()
[True, True, False]""",
    "log": """\
>>> jnp.log(jnp.array([1.0, jnp.e, 0.0, -1.0])).round(4)
Array([  0.,   1., -inf,  nan], dtype=float32)""",
    "log10": """\
>>> jnp.log10(jnp.array([1000.0, 0.1])).round(4)
Array([ 3., -1.], dtype=float32)""",
    "log1p": """\
>>> float(jnp.log1p(1e-10)), float(jnp.log(1 + jnp.float32(1e-10)))
(1.000000013351432e-10, 0.0)""",
    "log2": """\
>>> jnp.log2(jnp.array([8, 0.25])).tolist()
[3.0, -2.0]""",
    "logaddexp": """\
>>> round(float(jnp.logaddexp(1000.0, 1000.0)), 2)  # exp(1000) is infinite
1000.69
>>> float(jnp.logaddexp(-jnp.inf, 2.0))  # adding a probability of 0
2.0""",
    "logaddexp2": """\
>>> float(jnp.logaddexp2(1000.0, 1000.0))
1001.0""",
    "logical_and": """\
>>> x = jnp.array([-1, 2, 7])
>>> jnp.logical_and(x > 0, x < 5).tolist()
[False, True, False]""",
    "logical_not": """\
>>> jnp.logical_not(jnp.array([0.0, 2.0, jnp.nan])).tolist()
[True, False, False]""",
    "logical_or": """\
>>> x = jnp.array([-1, 2, 7])
>>> jnp.logical_or(x < 0, x > 5).tolist()
[True, False, True]""",
    "logical_xor": """\
>>> jnp.logical_xor(jnp.array([0, 1, 2]), jnp.array([0, 0, 1])).tolist()
[False, True, False]""",
    "maximum": """\
>>> jnp.maximum(jnp.array([-1.0, 2.0, jnp.nan]), 0.0)
Array([ 0.,  2., nan], dtype=float32)
>>> import ricci
>>> float(ricci.grad(jnp.maximum)(0.0, 0.0))  # shared by equal operands
0.5""",
    "minimum": """\
>>> jnp.minimum(jnp.array([-1.0, 2.0, jnp.nan]), 0.0)
Array([-1.,  0., nan], dtype=float32)""",
    "multiply": """\
>>> column, row = jnp.array([[1], [2], [3]]), jnp.array([10, 20])
>>> jnp.multiply(column, row).tolist()
[[10, 20], [20, 40], [30, 60]]""",
    "negative": """\
>>> jnp.negative(jnp.array([2, -3])).tolist()
[-2, 3]
>>> jnp.negative(jnp.uint8(1))  # integers wrap
Array(255, dtype=uint8)""",
    "nextafter": """\
>>> one = jnp.float32(1.0)
>>> float(jnp.nextafter(one, 2.0)) == 1 + 2**-23
True""",
    "not_equal": """\
>>> jnp.not_equal(jnp.array([1, 2]), jnp.array([1, 3])).tolist()
[False, True]""",
    "positive": """\
>>> jnp.positive(jnp.array([-2, 2])).tolist()
[-2, 2]""",
    "rad2deg": """\
>>> jnp.rad2deg(jnp.array([jnp.pi, -jnp.pi / 2])).round(2).tolist()
[180.0, -90.0]""",
    "real": """\
>>> jnp.real(jnp.array([2 + 3j, 1.0])).tolist()
[2.0, 1.0]""",
    "reciprocal": """\
>>> jnp.reciprocal(jnp.array([4, 0])).tolist()
[0.25, inf]""",
    "right_shift": """\
>>> jnp.right_shift(jnp.array([12, -12]), 2).tolist()
[3, -3]""",
    "sign": """\
>>> jnp.sign(jnp.array([-3.0, 0.0, 2.0, jnp.nan]))
Array([-1.,  0.,  1., nan], dtype=float32)""",
    "sin": """\
>>> jnp.sin(jnp.array([0.0, jnp.pi / 6, jnp.pi / 2])).round(4).tolist()
[0.0, 0.5, 1.0]""",
    "sinh": """\
>>> jnp.sinh(jnp.array([0.0, 1.0])).round(4)
Array([0.    , 1.1752], dtype=float32)""",
    "sqrt": """\
>>> jnp.sqrt(jnp.array([9.0, 2.0, -1.0])).round(4)
Array([3.    , 1.4142,    nan], dtype=float32)
>>> jnp.sqrt(jnp.array([-1.0 + 0j])).tolist()
[1j]
>>> import ricci
>>> float(ricci.grad(jnp.sqrt)(0.0))
inf""",
    "square": """\
>>> jnp.square(jnp.array([-3, 2])).tolist()
[9, 4]
>>> jnp.square(2j)  # not abs(x)**2
Array(-4.+0.j, dtype=complex64, weak_type=True)""",
    "subtract": """\
>>> jnp.subtract(jnp.array([3.0, 4.0]), 1).tolist()
[2.0, 3.0]
>>> jnp.subtract(jnp.uint8(1), jnp.uint8(2))  # integers wrap
Array(255, dtype=uint8)""",
    "tan": """\
>>> jnp.tan(jnp.array([0.0, jnp.pi / 4])).round(4).tolist()
[0.0, 1.0]""",
    "tanh": """\
>>> jnp.tanh(jnp.array([0.0, 1.0, 100.0])).round(3)
Array([0.   , 0.762, 1.   ], dtype=float32)""",
}

# Common pitfalls.
NOTES = {
    "abs": """\
The least integer has no opposite: ``abs`` of int8 -128 is -128.""",
    "log": """\
In ``where(x > 0, log(x), 0)`` the gradient is NaN where ``x`` is 0: see ``where``.""",
    "logical_and": """\
Python's ``and`` needs one truth value, which a traced array does not have; ``&`` of booleans is
this function.""",
    "sqrt": """\
The slope at 0 is infinite, and 0 times it is NaN: the gradient of ``sqrt(sum(x * x))`` at zeros
is NaN, as that of ``linalg.norm``.""",
}

# Similar functions.
NEIGHBOURS = {
    "arctan": "``arctan2``, which returns the right quadrant.",
    "arctan2": "``angle``, of complex numbers.",
    "ceil": "``floor``, ``trunc``, ``round``.",
    "divide": "``floor_divide`` and ``remainder``, which keep integers.",
    "equal": "``isclose``, with a tolerance; ``array_equal``, one boolean for two arrays.",
    "exp": "``expm1``; ``logaddexp`` and ``scipy.special.logsumexp`` for sums of exponentials.",
    "floor": "``ceil``, ``trunc``, ``round``; ``floor_divide``.",
    "isnan": "``isfinite``; ``nan_to_num``, which replaces them.",
    "log": "``log1p``, exact for arguments near 1.",
    "logaddexp": "``scipy.special.logsumexp``, along an axis.",
    "logical_and": "``bitwise_and``, of the bits of integers; ``all``.",
    "logical_or": "``bitwise_or``, of the bits of integers; ``any``.",
    "maximum": "``max``, the largest element of one array; ``fmax``, which ignores NaN; ``clip``.",
    "minimum": "``min``, the smallest element of one array; ``fmin``, which ignores NaN; ``clip``.",
}
