"""Symbolic dimensions: how they are written, computed with, compared and bounded.

``data/dimensions.tsv`` holds what JAX answers: the variables, an expression of them, and the
printed result, or ``!`` and the class of the error.
"""

import itertools
import random
from math import inf
from pathlib import Path

import numpy as np
import pytest

from ricci_ir import (
    InconclusiveDimensionOperation,
    ShapedArray,
    ShapeDtypeStruct,
    SymbolicScope,
    found_dimensions,
    is_static_shape,
    is_symbolic_dim,
    max_dim,
    min_dim,
    symbolic_args_specs,
    symbolic_dim_bounds,
    symbolic_shape,
)

_NAMES = {
    "is_symbolic_dim": is_symbolic_dim,
    "max_dim": max_dim,
    "min_dim": min_dim,
    "symbolic_dim_bounds": symbolic_dim_bounds,
    "symbolic_shape": symbolic_shape,
    "np": np,
    "inf": inf,
}
_ROWS = [
    line.split("\t")
    for line in Path(__file__).with_name("data").joinpath("dimensions.tsv").read_text().splitlines()
]
# Comparisons that JAX does not decide, and here are decided, or taken.
_FURTHER = {
    "b*b>=b": "True",
    "b*c>=c": "True",
    "a*b >= a+b-1": "True",
    "a*a + 1 >= a": "True",
    "a%b <= a": "True",
    "a//b <= a": "True",
    "a//2 + (a+1)//2 == a": "True",
    "symbolic_dim_bounds(b*b-b)": "(0, inf)",
    'symbolic_shape("a", constraints=["a <= 0"])': "!ValueError",
}


def _answer(variables: str, expression: str) -> str:
    dimensions = dict(zip(variables.split(", "), symbolic_shape(variables), strict=True))
    try:
        return repr(eval(expression, {**_NAMES, **dimensions}))
    except (InconclusiveDimensionOperation, ValueError, TypeError, ZeroDivisionError) as error:
        return f"!{type(error).__name__}"


@pytest.mark.parametrize("variables", sorted({row[0] for row in _ROWS}))
def test_answers_are_those_of_jax(variables):
    rows = [row for row in _ROWS if row[0] == variables]
    different = [
        (expression, expected, found)
        for _, expression, expected in rows
        if (found := _answer(variables, expression)) != _FURTHER.get(expression, expected)
    ]
    assert different == []


# By constraints: questions, and their answers.
_CONSTRAINED = {
    ("a >= 4", "b <= 8", "a >= b"): {
        "a >= 3": True,
        "a >= 5": None,
        "2*a >= 2*b": True,
        "a*b >= b*b": True,
        "symbolic_dim_bounds(b)": (1, 8),
        "symbolic_dim_bounds(a - b)": (0, inf),
        "max_dim(a, b) is a": True,
    },
    ("a >= b", "b >= c"): {"a >= c": True, "2*a >= b + c": True, "c > a": False},
    ("a >= 2*b", "b >= 3*c + 1"): {"a >= 6*c + 2": True, "symbolic_dim_bounds(a)": (8, inf)},
    ("mod(a, 2) == 0",): {"a % 2": 0, "a//2*2 is a": True, "str((3*a) % 2)": "mod(3*a, 2)"},
    ("2*a == 3*b",): {"4*a == 6*b": True, "a >= b": True, "a == b": False},
    ("a*b == 8",): {"a*b": 8, "str(a*b*b)": "8*b", "a*b*3": 24},
    ("max(a, b) == b",): {"a <= b": True, "max_dim(a, b) is b": True},
    ("a + b == 10",): {"a <= 9": True, "a + b == 10": True},
    ("a == b",): {"a is b": True},
    ("floordiv(a, 4) == b",): {"a//4 is b": True, "a >= 4*b": True, "a <= 4*b + 3": True},
    ("a >= 0",): {"a >= 0": True, "a >= 1": None, "symbolic_dim_bounds(a)": (0, inf)},
}


@pytest.mark.parametrize("constraints", _CONSTRAINED, ids="; ".join)
def test_constraints_decide(constraints):
    a, b, c = symbolic_shape("a, b, c", constraints=constraints)
    for question, answer in _CONSTRAINED[constraints].items():
        try:
            found = eval(question, {**_NAMES, "a": a, "b": b, "c": c})
        except InconclusiveDimensionOperation:
            found = None
        assert found == answer, question


@pytest.mark.parametrize(
    "constraints", [["a >= 3", "a <= 2"], ["a == b + 1", "b == a + 1"], ["3 >= 4"], ["a <= 0"]]
)
def test_a_constraint_that_cannot_hold_is_refused(constraints):
    with pytest.raises(ValueError, match="holds for no sizes"):
        SymbolicScope(constraints)


def test_inconclusive_comparisons_name_the_missing_constraint():
    (b,) = symbolic_shape("b", constraints=["b <= 9"])
    with pytest.raises(InconclusiveDimensionOperation, match=r"'b' > '3'.*\n.*b <= 9") as found:
        assert b > 3
    assert 'constraints=["b >= 4"]' in str(found.value)
    assert '"b <= 3"' in str(found.value)
    (b,) = symbolic_shape("b", constraints=["b >= 4"])
    assert b > 3


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (int, InconclusiveDimensionOperation),
        (float, TypeError),
        (range, TypeError),
        (lambda b: [1, 2][b], TypeError),
        (lambda b: np.zeros((b,)), TypeError),
        (lambda b: b // 0, ZeroDivisionError),
        (lambda b: b**-1, ValueError),
    ],
)
def test_symbolic_dimensions_do_not_convert_to_numbers(use, error):
    (b,) = symbolic_shape("b")
    with pytest.raises(error):
        use(b)


def test_scopes_do_not_mix():
    (a,), (b,) = symbolic_shape("b"), symbolic_shape("b")
    assert a != b
    with pytest.raises(ValueError, match="mixing of symbolic scopes"):
        a + b
    with pytest.raises(ValueError, match="mixing of symbolic scopes"):
        assert a >= b


def test_equal_dimensions_are_one_object():
    a, b = symbolic_shape("a, b")
    assert (a + 1) * b is b * a + b
    assert len({a, a + 0, b, 2 * a - a}) == 2


def _random_dimension(rng, leaves, depth):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(leaves)
    x, y = (_random_dimension(rng, leaves, depth - 1) for _ in range(2))
    kind = rng.choice("++-*/%MmN")
    if kind in "/%":
        y = y if isinstance(y, int) and y else rng.choice([2, 3, -2, leaves[0]])
        return x // y if kind == "/" else x % y
    if kind in "MmN":
        return -x if kind == "N" else (max_dim if kind == "M" else min_dim)(x, y)
    return {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y}[kind]()


@pytest.mark.parametrize(
    "constraints", [(), ("a >= b",), ("a >= 2*b", "c <= 3"), ("a == b + c", "mod(b, 2) == 0")]
)
def test_answers_hold_for_all_values(constraints):
    """Whatever is decided, or bounded, is so for every value that the constraints allow."""
    rng = random.Random(len(constraints))
    names = "a", "b", "c"
    allowed = [
        values
        for numbers in itertools.product(range(1, 7), repeat=3)
        if all(
            eval(text.replace("mod(b, 2)", "b % 2"), dict(values))
            for values in [dict(zip(names, numbers, strict=True))]
            for text in constraints
        )
        for values in [dict(zip(names, numbers, strict=True))]
    ]
    leaves = [*symbolic_shape("a, b, c", constraints=constraints), 1, 2, 5]
    decided = 0
    for _ in range(120):
        x = _random_dimension(rng, leaves, 3)
        values = [x if isinstance(x, int) else x.evaluate(v) for v in allowed]
        low, high = symbolic_dim_bounds(x)
        assert low <= min(values), x
        assert max(values) <= high, x
        try:
            assert (x >= 2) == all(v >= 2 for v in values), x
            assert (x >= 2) == any(v >= 2 for v in values), x
            decided += 1
        except InconclusiveDimensionOperation:
            pass
    assert decided > 20


def test_normal_forms_have_the_values_of_python():
    rng = random.Random(7)
    leaves = [*symbolic_shape("a, b"), 1, 3]
    for _ in range(200):
        x, y = (_random_dimension(rng, leaves, 2) for _ in range(2))
        numbers = {"a": rng.randint(1, 9), "b": rng.randint(1, 9)}
        p, q = (v if isinstance(v, int) else v.evaluate(numbers) for v in (x, y))
        results = {"+": (x + y, p + q), "-": (x - y, p - q), "*": (x * y, p * q)}
        if q and (not isinstance(y, int) or y):
            results |= {"//": (x // y, p // q), "%": (x % y, p % q)}
        for name, (found, expected) in results.items():
            found = found if isinstance(found, int) else found.evaluate(numbers)
            assert found == expected, (x, name, y, numbers)


def test_printed_dimensions_are_read_again():
    rng = random.Random(3)
    a, b = symbolic_shape("a, b")
    for _ in range(100):
        x = _random_dimension(rng, [a, b, 1, 2], 3)
        assert symbolic_shape(str(x), scope=a.scope) == (x,)


@pytest.mark.parametrize(
    "text", ["a b", "a,,b", "(a", "a)", "2a", "a//2", "a**2", "max(a)", "a^b", "1.5", "a'", "a, ?"]
)
def test_a_shape_that_cannot_be_read_is_shown(text):
    with pytest.raises(ValueError, match="syntax error in symbolic shape") as found:
        symbolic_shape(text)
    assert repr(text) in str(found.value)


def test_types_hold_dimensions():
    b, c = symbolic_shape("b, c")
    x = ShapedArray((b, 3, 2 * c), np.float32, True)
    assert x is ShapedArray([b, 3, c + c], "float32", True)
    assert str(x) == "~float32[b,3,2*c]"
    assert x.size is 6 * b * c
    assert not is_static_shape(x.shape)
    assert is_static_shape((1, 2))
    assert x.update(shape=(3,)).size == 3


def test_specs_of_arguments():
    x = np.ones((3, 4), np.float32)
    first, rest = symbolic_args_specs((x, {"y": x, "z": 2.0}), ("b, ...", None))
    assert first == ShapeDtypeStruct((*symbolic_shape("b", scope=first.shape[0].scope), 4), "f4")
    assert rest["y"].shape == (3, 4)
    assert rest["z"].shape == ()
    with pytest.raises(ValueError, match="scope"):
        symbolic_args_specs(x, "b, _", scope=first.shape[0].scope, constraints=["b >= 8"])
    with pytest.raises(ValueError, match="prefix"):
        symbolic_args_specs((x, x), ("b, _",))


def test_dimensions_are_found_from_shapes():
    shapes = [("x", symbolic_shape("a, 2*a + b, a*b", constraints=["a >= b"]))]
    assert found_dimensions(shapes, [(3, 7, 3)]) == {"a": 3, "b": 1}
    for wrong, message in {
        (3, 7, 4): r"x.shape\[2\] is 4, but a\*b is 3",
        (3, 6, 3): "b is 0, but must be at least 1",
        (2, 7, 6): "the constraint 'a >= b' does not hold",
    }.items():
        with pytest.raises(ValueError, match=message):
            found_dimensions(shapes, [wrong])
    (odd,) = symbolic_shape("2*b + 1")
    with pytest.raises(ValueError, match="which is 2\\*b \\+ 1 for no integer b"):
        found_dimensions([("x", (odd,))], [(4,)])
    with pytest.raises(ValueError, match="Cannot solve for values of dimension variables b"):
        found_dimensions([("x", symbolic_shape("b*b"))], [(4,)])
    with pytest.raises(ValueError, match=r"x.shape is \(3\), but should be \(2\)"):
        found_dimensions([("x", (2,))], [(3,)])
