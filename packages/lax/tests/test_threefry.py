"""The Threefry-2x32 primitive: known answers, types, batching, derivatives and its text."""

import numpy as np
import pytest

from ricci_batching import vmap
from ricci_ir import ShapedArray, trace_to_jaxpr
from ricci_lax.random_bits._threefry import threefry2x32, threefry2x32_numpy, threefry2x32_xor
from ricci_stablehlo import lower_jaxpr

WORD = ShapedArray((), np.uint32)

# The known-answer vectors of Random123 for threefry2x32 with 20 rounds: key, counter, result.
KNOWN_ANSWERS = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "counter", "expected"), KNOWN_ANSWERS)
def test_known_answers(key, counter, expected):
    assert tuple(map(int, threefry2x32_numpy(*key, *counter))) == expected


def program(*avals, fun=threefry2x32):
    return trace_to_jaxpr(lambda *xs: list(fun(*xs)), avals)


def words(*shapes):
    return [ShapedArray(shape, np.uint32) for shape in shapes]


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        (((), (), (), ()), ()),
        (((), (), (5,), (5,)), (5,)),
        (((4, 1), (4, 1), (1, 3), (1, 3)), (4, 3)),
        (((), (), (0,), (0,)), (0,)),
    ],
)
def test_results_have_the_broadcast_shape(shapes, expected):
    assert [v.aval for v in program(*words(*shapes)).outvars] == words(expected, expected)


def test_other_dtypes_are_refused():
    with pytest.raises(TypeError, match="uint32"):
        program(WORD, WORD, WORD, ShapedArray((), np.int32))


def test_incompatible_shapes_are_refused():
    with pytest.raises(TypeError, match="threefry2x32"):
        program(WORD, WORD, *words((2,), (3,)))


@pytest.mark.parametrize("in_axes", [(0, 0, None, None), (None, None, 1, 0), (0, None, 1, None)])
def test_batched_results_have_the_batch_in_front(in_axes):
    shapes = [(), (), (3,), (3,)]
    full = [s if d is None else (*s[:d], 4, *s[d:]) for s, d in zip(shapes, in_axes, strict=True)]
    jaxpr = program(*words(*full), fun=vmap(threefry2x32, in_axes=in_axes))
    assert [v.aval.shape for v in jaxpr.outvars] == [(4, 3)] * 2


def test_the_text_is_unrolled_and_free_of_large_constants():
    text = lower_jaxpr(program(*words((), (), (1000, 1000), (1000, 1000))), "f")
    # The rotations, and on CPUs the one that makes the words' pairs, which are a single result.
    assert text.count("stablehlo.shift_left") == 21
    assert text.count("stablehlo.optimization_barrier") == 1
    assert "stablehlo.while" not in text
    constants = [line for line in text.splitlines() if "constant" in line]
    assert all("tensor<ui32>" in line or "tensor<ui64>" in line for line in constants)


def test_combined_words_are_the_words_combined():
    operands = words((), (), (3, 1), (1, 4))
    jaxpr = trace_to_jaxpr(lambda *xs: [threefry2x32_xor(*xs)], operands)
    assert [v.aval for v in jaxpr.outvars] == words((3, 4))
    text = lower_jaxpr(jaxpr, "f")
    assert text.count("stablehlo.shift_left") == 20
    assert text.count("stablehlo.optimization_barrier") == 1
