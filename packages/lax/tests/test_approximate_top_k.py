"""Approximate search: sizes, text, derivatives, batches and errors."""

from typing import Any

import numpy as np
import pytest

from ricci_autodiff import grad
from ricci_batching import vmap
from ricci_ir import ShapeDtypeStruct, make_jaxpr
from ricci_lax import approx_max_k, approx_min_k, reduce_sum
from ricci_lax.reductions._approximate_top_k import reduced_size
from ricci_stablehlo import lower_jaxpr


def of(*shape, dtype: Any = "float32"):
    return ShapeDtypeStruct(shape, np.dtype(dtype))


# Sizes that JAX gives.
@pytest.mark.parametrize(
    ("size", "rank", "k", "recall", "override", "expected"),
    [
        (1000, 1, 10, 0.95, -1, 1000),
        (1025, 1, 1, 0.95, -1, 1024),
        (1025, 1, 3, 0.95, -1, 1025),
        (4096, 1, 10, 0.95, -1, 1024),
        (5000, 1, 3, 0.95, -1, 2048),
        (100000, 1, 10, 0.99, -1, 2048),
        (4096, 2, 10, 0.95, -1, 256),
        (129, 2, 2, 0.1, 258, 256),
        (129, 2, 2, 0.999, 258, 129),
        (400, 1, 4, 1.0, -1, 400),
    ],
)
def test_number_of_candidates(size, rank, k, recall, override, expected):
    assert reduced_size(size, rank, k, recall, override) == expected


@pytest.mark.parametrize(("fun", "is_max"), [(approx_max_k, True), (approx_min_k, False)])
def test_approx_top_k_prints_as_in_jax(fun, is_max):
    assert str(make_jaxpr(lambda x: fun(x, 3))(of(4, 100))) == (
        "{ lambda ; a:f32[4,100]. let\n"
        "    b:f32[4,3] c:i32[4,3] = approx_top_k[\n"
        "      aggregate_to_topk=True\n"
        f"      is_max_k={is_max}\n"
        "      k=3\n"
        "      recall_target=0.95\n"
        "      reduction_dimension=-1\n"
        "      reduction_input_size_override=-1\n"
        "    ] a\n"
        "  in (b, c) }"
    )


@pytest.mark.parametrize(
    ("platform", "fallback"), [("cpu", True), ("cuda", True), ("rocm", True), ("tpu", False)]
)
def test_only_tpu_searches_approximately(platform, fallback):
    text = lower_jaxpr(make_jaxpr(lambda x: approx_max_k(x, 3))(of(4, 100)), "f", platform=platform)
    assert 'call_target_name = "ApproxTopK"' in text
    assert "called_computations = [@top_k_gt_f32_comparator]" in text
    assert ("is_fallback = true" in text) == fallback


def test_the_greatest_and_the_smallest(backend):
    x = np.array([[3, 1, 2], [-1, 5, 0]], np.float32)
    for fun, values, indices in (
        (approx_max_k, [[3, 2], [5, 0]], [[0, 2], [1, 2]]),
        (approx_min_k, [[1, 2], [-1, 0]], [[1, 2], [0, 2]]),
    ):
        found = fun(x, 2)
        np.testing.assert_array_equal(np.asarray(found[0]), values)
        np.testing.assert_array_equal(np.asarray(found[1]), indices)


def test_the_gradient_of_approx_max_k_scatters_to_the_selected_elements(backend):
    x = np.array([3, 1, 2], np.float32)
    found = grad(lambda x: reduce_sum(approx_max_k(x, 2)[0], (0,)))(x)
    np.testing.assert_array_equal(np.asarray(found), [1, 0, 1])


@pytest.mark.parametrize(("in_axis", "dimension"), [(0, 1), (1, 0), (2, 0)])
def test_the_dimension_moves_with_a_batch(in_axis, dimension):
    shape = [5, 4]
    shape.insert(in_axis, 7)
    mapped = vmap(lambda x: approx_max_k(x, 2, 0), in_axis)
    jaxpr = make_jaxpr(mapped)(of(*shape))
    assert jaxpr.eqns[0].params["reduction_dimension"] == dimension
    assert [a.shape for a in jaxpr.out_avals] == [(7, 2, 4)] * 2


@pytest.mark.parametrize(
    ("error", "message", "x", "options"),
    [
        (ValueError, "approx_max_k: k=0 must be positive", of(5), {"k": 0}),
        (ValueError, "approx_max_k: there are no 6 elements", of(5), {"k": 6}),
        (ValueError, "floating-point numbers, got int32", of(5, dtype="int32"), {"k": 1}),
        (ValueError, "floating-point numbers, got complex", of(5, dtype="complex64"), {"k": 1}),
        (ValueError, "is not between 0 and 1", of(5), {"k": 1, "recall_target": 1.5}),
        (TypeError, "a scalar has no dimension", of(), {"k": 1}),
        (IndexError, "is out of bounds", of(5), {"k": 1, "reduction_dimension": 1}),
        (
            RuntimeError,
            "is less than the 5 elements",
            of(5),
            {"k": 1, "reduction_input_size_override": 4, "aggregate_to_topk": False},
        ),
    ],
)
def test_errors_name_the_rule_that_is_broken(error, message, x, options):
    with pytest.raises(error, match=message):
        make_jaxpr(lambda x: approx_max_k(x, **options))(x)
