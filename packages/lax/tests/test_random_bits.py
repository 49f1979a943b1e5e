"""The compiler's generators: types, programs, batches, text and refusals."""

import numpy as np
import pytest

from ricci_autodiff import grad, jvp
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, check_jaxpr, enable_x64, float0, make_jaxpr
from ricci_lax import (
    RandomAlgorithm,
    convert_element_type,
    mul,
    reduce_sum,
    rng_bit_generator,
    rng_uniform,
)
from ricci_stablehlo import lower_jaxpr


def of(*shape, dtype="uint32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


KEY = of(4)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("key", [KEY, of(2, dtype="uint64")])
def test_types_of_the_new_key_and_the_bits(key, dtype):
    with enable_x64(True):
        jaxpr = make_jaxpr(lambda k: rng_bit_generator(k, (5, 3), dtype))(key)
    assert [(a.shape, a.dtype) for a in jaxpr.out_avals] == [
        (key.shape, key.dtype),
        ((5, 3), np.dtype(dtype)),
    ]


def test_wide_bits_are_narrowed_while_those_are_off():
    with pytest.warns(UserWarning, match="uint64"):
        jaxpr = make_jaxpr(lambda k: rng_bit_generator(k, (5,), np.uint64))(KEY)
    assert jaxpr.out_avals[1].dtype == np.uint32


@pytest.mark.parametrize("algorithm", [*RandomAlgorithm, 1])
def test_a_program_shows_the_algorithm(algorithm):
    jaxpr = make_jaxpr(lambda k: rng_bit_generator(k, 5, algorithm=algorithm))(KEY)
    assert f"algorithm={RandomAlgorithm(algorithm).name}\n" in str(jaxpr)


BATCHED = """\
{ lambda ; a:u32[4,7]. let
    b:u32[7,4] = transpose[permutation=(1, 0)] a
    c:u32[1,4] = slice[limit_indices=(1, 4) start_indices=(0, 0) strides=None] b
    d:u32[4] = squeeze[dimensions=(0,)] c
    e:u32[4] f:u32[7,5] = rng_bit_generator[
      algorithm=RNG_DEFAULT
      dtype=uint32
      out_sharding=None
      shape=(7, 5)
    ] d
    g:u32[7,4] = jit[
      name=dynamic_update_index_in_dim
"""


def test_a_batch_draws_from_the_first_key():
    jaxpr = make_jaxpr(vmap(lambda k: rng_bit_generator(k, (5,)), 1))(of(4, 7))
    check_jaxpr(jaxpr)
    assert str(jaxpr).startswith(BATCHED)


def test_a_batch_of_batches():
    jaxpr = make_jaxpr(vmap(vmap(lambda k: rng_bit_generator(k, (5,)))))(of(3, 2, 4))
    check_jaxpr(jaxpr)
    assert [a.shape for a in jaxpr.out_avals] == [(3, 2, 4), (3, 2, 5)]


def test_an_empty_batch_draws_no_bits():
    jaxpr = make_jaxpr(vmap(lambda k: rng_bit_generator(k, (5,))))(of(0, 4))
    assert [a.shape for a in jaxpr.out_avals] == [(0, 4), (0, 5)]


def test_bits_have_no_derivative():
    jaxpr = make_jaxpr(
        lambda k: jvp(lambda k: rng_bit_generator(k, (5,)), (k,), (np.zeros(4, float0),))[1]
    )(KEY)
    assert [a.dtype for a in jaxpr.out_avals] == [float0, float0]


def test_products_with_bits_have_a_derivative():
    def scaled(x, key):
        bits = convert_element_type(rng_bit_generator(key, (5,))[1], np.float32)
        return reduce_sum(mul(x, bits), (0,))

    check_jaxpr(make_jaxpr(grad(scaled))(of(dtype="float32"), KEY))


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
@pytest.mark.parametrize("algorithm", RandomAlgorithm)
def test_text_of_a_generator(algorithm, platform):
    jaxpr = make_jaxpr(lambda k: rng_bit_generator(k, (5,), np.uint8, algorithm))(KEY)
    text = lower_jaxpr(jaxpr, "f", platform=platform)
    for line in (
        "stablehlo.reshape %arg0 : (tensor<4xui32>) -> tensor<2x2xui32>",
        "stablehlo.bitcast_convert %0 : (tensor<2x2xui32>) -> tensor<2xui64>",
        f"stablehlo.rng_bit_generator %1, algorithm = {algorithm.name[4:]} : "
        "(tensor<2xui64>) -> (tensor<2xui64>, tensor<5xui8>)",
        ": (tensor<2xui64>) -> tensor<2x2xui32>",
        ": (tensor<2x2xui32>) -> tensor<4xui32>",
    ):
        assert line in text


def test_text_of_a_wide_key():
    with enable_x64(True):
        jaxpr = make_jaxpr(lambda k: rng_bit_generator(k, (5,)))(of(2, dtype="uint64"))
    text = lower_jaxpr(jaxpr, "f")
    assert "stablehlo.rng_bit_generator %arg0, algorithm = DEFAULT" in text
    assert "bitcast_convert" not in text


@pytest.mark.parametrize(
    ("error", "message", "function", "key"),
    [
        (TypeError, r"the key must be .* but it is uint32\[3\]", {}, of(3)),
        (TypeError, r"the key must be .* but it is uint32\[2,2\]", {}, of(2, 2)),
        (TypeError, r"the key must be .* but it is uint32\[\]", {}, of()),
        (TypeError, r"the key must be .* but it is int32\[4\]", {}, of(4, dtype="int32")),
        (TypeError, r"the key must be .* but it is float32\[4\]", {}, of(4, dtype="float32")),
        (TypeError, "not int32", {"dtype": np.int32}, KEY),
        (TypeError, "not float32", {"dtype": np.float32}, KEY),
        (TypeError, "not bool", {"dtype": bool}, KEY),
        (TypeError, "foo", {"dtype": "foo"}, KEY),
        (TypeError, "invalid shape", {"shape": (2.5,)}, KEY),
        (TypeError, "negative", {"shape": (-5,)}, KEY),
        (ValueError, "algorithm=7 is none of", {"algorithm": 7}, KEY),
        (ValueError, "algorithm='three_fry' is none of", {"algorithm": "three_fry"}, KEY),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, function, key):
    options = {"shape": (5,), **function}
    with pytest.raises(error, match=message):
        make_jaxpr(lambda k: rng_bit_generator(k, **options))(key)


# rng_uniform

F32 = of(dtype="float32")


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [((F32, F32), "float32"), ((of(dtype="int32"),) * 2, "int32"), ((of(),) * 2, "uint32")],
)
def test_numbers_have_the_dtype_of_their_bounds(bounds, expected):
    (out,) = make_jaxpr(lambda a, b: rng_uniform(a, b, (5, 3)))(*bounds).out_avals
    assert (out.shape, out.dtype) == ((5, 3), np.dtype(expected))


def test_bounds_of_python_give_a_weak_type():
    (out,) = make_jaxpr(lambda: rng_uniform(0.0, 1.0, (3,)))().out_avals
    assert out.weak_type


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_text_of_uniform_numbers(platform):
    jaxpr = make_jaxpr(lambda a, b: rng_uniform(a, b, (5, 3)))(F32, F32)
    text = lower_jaxpr(jaxpr, "f", platform=platform)
    assert "stablehlo.constant dense<[5, 3]> : tensor<2xi64>" in text
    assert (
        "stablehlo.rng %arg0, %arg1, %0, distribution = UNIFORM : "
        "(tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<5x3xf32>"
    ) in text


@pytest.mark.parametrize(
    ("error", "message", "bounds", "shape"),
    [
        (ValueError, "differ in dtype", (of(dtype="int32"), F32), (5,)),
        (ValueError, "must be scalars", (of(3, dtype="float32"), F32), (5,)),
        (ValueError, "must be scalars", (F32, of(5, dtype="float32")), (5,)),
        (TypeError, "can be drawn, but the bounds are int8", (of(dtype="int8"),) * 2, (5,)),
        (TypeError, "can be drawn, but the bounds are bool", (of(dtype="bool"),) * 2, (5,)),
        (TypeError, "the bounds are complex64", (of(dtype="complex64"),) * 2, (5,)),
        (TypeError, "invalid shape", (F32, F32), (5.0,)),
        (TypeError, "negative", (F32, F32), (-5,)),
    ],
)
def test_errors_of_uniform_numbers(error, message, bounds, shape):
    with pytest.raises(error, match=message):
        make_jaxpr(lambda a, b: rng_uniform(a, b, shape))(*bounds)


@pytest.mark.parametrize(
    "transformed",
    [
        lambda a, b: vmap(lambda a: rng_uniform(a, b, (5,)))(a),
        lambda a, b: jvp(lambda b: rng_uniform(0.0, b, (5,)), (b,), (b,)),
        lambda a, b: grad(lambda b: reduce_sum(rng_uniform(0.0, b, (5,)), (0,)))(b),
    ],
)
def test_uniform_numbers_are_not_transformed(transformed):
    with pytest.raises(NotImplementedError, match="a state of the device that no program sees"):
        make_jaxpr(transformed)(of(2, dtype="float32"), F32)
