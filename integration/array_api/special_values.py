"""The special values that the array API standard (2022.12) gives for elementwise functions.

A table's name is that of the function; ``REAL`` holds functions of real numbers, ``BINARY`` of two,
``COMPLEX`` of complex numbers. The notation is explained in ``rows``.
"""

REAL = {
    "abs": "nan -> nan\n -0 -> 0\n -inf -> inf",
    "acos": "nan -> nan\n 2 -> nan\n -2 -> nan\n 1 -> 0",
    "acosh": "nan -> nan\n 0.5 -> nan\n 1 -> 0\n inf -> inf",
    "asin": "nan -> nan\n 2 -> nan\n -2 -> nan\n zero -> x",
    "asinh": "nan -> nan\n zero -> x\n infinite -> x",
    "atan": "nan -> nan\n zero -> x\n inf -> pi/2\n -inf -> -pi/2",
    "atanh": "nan -> nan\n -2 -> nan\n 2 -> nan\n -1 -> -inf\n 1 -> inf\n zero -> x",
    "ceil": "infinite -> x\n zero -> x\n nan -> nan\n 2 -> 2\n -0.5 -> -0",
    "cos": "nan -> nan\n zero -> 1\n infinite -> nan",
    "cosh": "nan -> nan\n zero -> 1\n infinite -> inf",
    "exp": "nan -> nan\n zero -> 1\n inf -> inf\n -inf -> 0",
    "expm1": "nan -> nan\n zero -> x\n inf -> inf\n -inf -> -1",
    "floor": "infinite -> x\n zero -> x\n nan -> nan\n 2 -> 2",
    "log": "nan -> nan\n below -> nan\n zero -> -inf\n 1 -> 0\n inf -> inf",
    "log1p": "nan -> nan\n -2 -> nan\n -1 -> -inf\n zero -> x\n inf -> inf",
    "log2": "nan -> nan\n below -> nan\n zero -> -inf\n 1 -> 0\n inf -> inf",
    "log10": "nan -> nan\n below -> nan\n zero -> -inf\n 1 -> 0\n inf -> inf",
    "round": "infinite -> x\n zero -> x\n nan -> nan\n 2.5 -> 2\n -0.5 -> -0",
    "sign": "below -> -1\n zero -> 0\n above -> 1\n nan -> nan",
    "sin": "nan -> nan\n zero -> x\n infinite -> nan",
    "sinh": "nan -> nan\n zero -> x\n infinite -> x",
    "sqrt": "nan -> nan\n below -> nan\n zero -> x\n inf -> inf",
    "square": "nan -> nan\n zero -> 0\n infinite -> inf",
    "tan": "nan -> nan\n zero -> x\n infinite -> nan",
    "tanh": "nan -> nan\n zero -> x\n inf -> 1\n -inf -> -1",
    "trunc": "infinite -> x\n zero -> x\n nan -> nan\n 2 -> 2\n -0.5 -> -0",
}

_QUOTIENT = """
    any nan -> nan
    nan any -> nan
    infinite infinite -> nan
    zero zero -> nan
    0 above -> 0
    -0 above -> -0
    0 below -> -0
    -0 below -> 0
    above 0 -> inf
    above -0 -> -inf
    below 0 -> -inf
    below -0 -> inf
    inf positive -> inf
    inf negative -> -inf
    -inf positive -> -inf
    -inf negative -> inf
    positive inf -> 0
    negative -inf -> 0
"""
BINARY = {
    "add": """
        any nan -> nan
        nan any -> nan
        inf -inf -> nan
        -inf inf -> nan
        inf inf -> inf
        -inf -inf -> -inf
        infinite finite -> x
        finite infinite -> y
        -0 -0 -> -0
        -0 0 -> 0
        0 -0 -> 0
        0 0 -> 0
        zero nonzero -> y
        nonzero zero -> x
        2.5 -2.5 -> 0
    """,
    "subtract": """
        any nan -> nan
        inf inf -> nan
        -inf -inf -> nan
        infinite finite -> x
        -0 0 -> -0
        -0 -0 -> 0
        0 0 -> 0
        2.5 2.5 -> 0
    """,
    "atan2": """
        any nan -> nan
        nan any -> nan
        positive zero -> pi/2
        0 above -> 0
        0 0 -> 0
        0 -0 -> pi
        0 below -> pi
        -0 above -> -0
        -0 0 -> -0
        -0 -0 -> -pi
        -0 below -> -pi
        negative zero -> -pi/2
        positive inf -> 0
        positive -inf -> pi
        negative inf -> -0
        negative -inf -> -pi
        inf finite -> pi/2
        -inf finite -> -pi/2
        inf inf -> pi/4
        inf -inf -> 3pi/4
        -inf inf -> -pi/4
        -inf -inf -> -3pi/4
    """,
    "divide": _QUOTIENT + "positive -inf -> -0\n negative inf -> -0",
    "floor_divide": _QUOTIENT + "positive -inf -> -0\n negative inf -> -0",
    "logaddexp": "any nan -> nan\n nan any -> nan\n inf number -> inf\n number inf -> inf",
    "multiply": """
        any nan -> nan
        nan any -> nan
        infinite zero -> nan
        zero infinite -> nan
        inf positive -> inf
        inf negative -> -inf
        -inf negative -> inf
        positive -inf -> -inf
        positive -0 -> -0
        negative -0 -> 0
        infinite inf -> x
    """,
    "pow": """
        0 nan -> nan
        above zero -> 1
        nan zero -> 1
        nan nonzero -> nan
        nan infinite -> nan
        large inf -> inf
        large -inf -> 0
        1 infinite -> 1
        -1 infinite -> 1
        1 number -> 1
        small inf -> 0
        small -inf -> inf
        inf above -> inf
        inf below -> 0
        -inf odd -> -inf
        -inf even -> inf
        -inf -odd -> -0
        -inf -even -> 0
        0 above -> 0
        0 below -> inf
        -0 odd -> -0
        -0 even -> 0
        -0 -odd -> -inf
        -0 -even -> inf
        negative fraction -> nan
    """,
    "remainder": """
        any nan -> nan
        nan any -> nan
        infinite infinite -> nan
        zero zero -> nan
        zero above -> 0
        zero below -> -0
        above zero -> nan
        below zero -> nan
        infinite positive -> nan
        infinite negative -> nan
        positive inf -> x
        positive -inf -> y
        negative inf -> y
        negative -inf -> x
        5.5 -2 -> -0.5
        -5.5 2 -> 0.5
        -4 2 -> 0
        4 -2 -> -0
    """,
}

_EVEN_AND_ODD = {"cosh": False, "sinh": True, "tanh": True, "asinh": True, "atanh": True}
ODD = frozenset(name for name, odd in _EVEN_AND_ODD.items() if odd)
COMPLEX = {
    "acos": """
        zero 0 -> pi/2 -0
        zero nan -> pi/2 nan
        finite inf -> pi/2 -inf
        nonzero nan -> nan nan
        -inf positive -> pi -inf
        inf positive -> 0 -inf
        -inf inf -> 3pi/4 -inf
        inf inf -> pi/4 -inf
        infinite nan -> nan ~inf
        nan finite -> nan nan
        nan inf -> nan -inf
        nan nan -> nan nan
    """,
    "acosh": """
        zero 0 -> 0 pi/2
        finite inf -> inf pi/2
        nonzero nan -> nan nan
        0 nan -> nan ~pi/2
        -inf positive -> inf pi
        inf positive -> inf 0
        -inf inf -> inf 3pi/4
        inf inf -> inf pi/4
        infinite nan -> inf nan
        nan finite -> nan nan
        nan inf -> inf nan
        nan nan -> nan nan
    """,
    "asinh": """
        0 0 -> 0 0
        positive inf -> inf pi/2
        finite nan -> nan nan
        inf positive -> inf 0
        inf inf -> inf pi/4
        nan 0 -> nan 0
        nan nonzero -> nan nan
        nan inf -> ~inf nan
        nan nan -> nan nan
    """,
    "atanh": """
        0 0 -> 0 0
        0 nan -> 0 nan
        1 0 -> inf 0
        positive inf -> 0 pi/2
        nonzero nan -> nan nan
        inf positive -> 0 pi/2
        inf inf -> 0 pi/2
        inf nan -> 0 nan
        nan finite -> nan nan
        nan inf -> ~0 pi/2
        nan nan -> nan nan
    """,
    "cosh": """
        0 0 -> 1 0
        0 inf -> nan ~0
        0 nan -> nan ~0
        nonzero inf -> nan nan
        nonzero nan -> nan nan
        inf 0 -> inf 0
        inf nonzero -> infcis
        inf inf -> ~inf nan
        inf nan -> inf nan
        nan zero -> nan ~0
        nan nonzero -> nan nan
        nan nan -> nan nan
    """,
    "exp": """
        zero 0 -> 1 0
        finite inf -> nan nan
        finite nan -> nan nan
        inf 0 -> inf 0
        -inf finite -> 0cis
        inf nonzero -> infcis
        -inf inf -> ~0 ~0
        inf inf -> ~inf nan
        -inf nan -> ~0 ~0
        inf nan -> ~inf nan
        nan 0 -> nan 0
        nan nonzero -> nan nan
        nan nan -> nan nan
    """,
    "expm1": """
        zero 0 -> 0 0
        finite inf -> nan nan
        finite nan -> nan nan
        inf 0 -> inf 0
        -inf finite -> 0cis -1
        inf nonzero -> infcis -1
        -inf inf -> -1 ~0
        inf inf -> ~inf nan
        -inf nan -> -1 ~0
        inf nan -> ~inf nan
        nan 0 -> nan 0
        nan nonzero -> nan nan
        nan nan -> nan nan
    """,
    "log": """
        -0 0 -> -inf pi
        0 0 -> -inf 0
        finite inf -> inf pi/2
        finite nan -> nan nan
        -inf positive -> inf pi
        inf positive -> inf 0
        -inf inf -> inf 3pi/4
        inf inf -> inf pi/4
        infinite nan -> inf nan
        nan finite -> nan nan
        nan inf -> inf nan
        nan nan -> nan nan
    """,
    "log1p": """
        -1 0 -> -inf 0
        finite inf -> inf pi/2
        finite nan -> nan nan
        -inf positive -> inf pi
        inf positive -> inf 0
        -inf inf -> inf 3pi/4
        inf inf -> inf pi/4
        infinite nan -> inf nan
        nan finite -> nan nan
        nan inf -> inf nan
        nan nan -> nan nan
    """,
    "sign": """
        zero zero -> 0 0
        nan any -> nan nan
        any nan -> nan nan
    """,
    "sinh": """
        0 0 -> 0 0
        0 inf -> ~0 nan
        0 nan -> ~0 nan
        positive inf -> nan nan
        positive nan -> nan nan
        inf 0 -> inf 0
        inf positive -> infcis
        inf inf -> ~inf nan
        inf nan -> ~inf nan
        nan 0 -> nan 0
        nan nonzero -> nan nan
        nan nan -> nan nan
    """,
    "sqrt": """
        zero 0 -> 0 0
        any inf -> inf inf
        finite nan -> nan nan
        -inf positive -> 0 inf
        inf positive -> inf 0
        -inf nan -> nan ~inf
        inf nan -> inf nan
        nan finite -> nan nan
        nan nan -> nan nan
    """,
    "tanh": """
        0 0 -> 0 0
        nonzero inf -> nan nan
        0 inf -> 0 nan
        nonzero nan -> nan nan
        0 nan -> 0 nan
        inf positive -> 1 0
        inf inf -> 1 ~0
        inf nan -> 1 ~0
        nan 0 -> nan 0
        nan nonzero -> nan nan
        nan nan -> nan nan
    """,
    "abs": """
        infinite any -> inf
        any infinite -> inf
        zero 2.5 -> 2.5
        zero -2.5 -> 2.5
        2.5 zero -> 2.5
        -2.5 zero -> 2.5
        nan finite -> nan
        finite nan -> nan
        nan nan -> nan
    """,
}
# Functions of which the standard says only that they are ``f(x) = -i g(i x)``; the cosine is
# ``g(i x)``.
TURNED = {"asin": "asinh", "atan": "atanh", "cos": "cosh", "sin": "sinh", "tan": "tanh"}
TABLES = {"real": REAL, "binary": BINARY, "complex": COMPLEX}
