"""Propagation of explicit shardings through operations."""

import numpy as np
import pytest

from ricci_ir import ShapedArray, ShardingTypeError, make_type_sharding
from ricci_lax import (
    add_p,
    argmax_p,
    broadcast_in_dim_p,
    concatenate_p,
    cumsum_p,
    dot_general_p,
    dynamic_slice_p,
    dynamic_update_slice_p,
    pad_p,
    reduce_sum_p,
    reshape_p,
    rev_p,
    select_n_p,
    slice_p,
    sort_p,
    squeeze_p,
    transpose_p,
)
from ricci_lax.linalg import svd_p


class Mesh:
    """The attributes of a mesh that rules read."""

    shape = {"x": 2, "y": 4}
    explicit_axes = ("x", "y")


mesh = Mesh()


def typed(text):
    """The type written as ``8@x,4``; several axes as ``8@xy``."""
    shape, parts = [], []
    for dim in text.split(",") if text else ():
        size, _, axes = dim.partition("@")
        shape.append(int(size))
        parts.append(tuple(axes))
    return ShapedArray(shape, "float32", sharding=make_type_sharding(mesh, tuple(parts)))


def inner(a, b):
    return {
        "dimension_numbers": (((a,), (b,)), ((), ())),
        "precision": None,
        "preferred_element_type": None,
        "out_sharding": None,
    }


def reshape(*sizes):
    return {"new_sizes": sizes, "dimensions": None, "sharding": None}


def slicing(start, limit):
    return {"start_indices": start, "limit_indices": limit, "strides": None}


# primitive, operands, parameters, and the result or the words of the error
TABLE = [
    (add_p, ["8@x,4@y", "8,4"], {}, "8@x,4@y"),
    (add_p, ["8@x,4", "8@x,4@y"], {}, "8@x,4@y"),
    (add_p, ["8@x,4@y", "8@y,4@x"], {}, "sharded over"),
    (add_p, ["8@x,4@y", ""], {}, "8@x,4@y"),
    (dot_general_p, ["8@x,4@y", "4@y,8@x"], inner(1, 0), "out_sharding"),
    (dot_general_p, ["8@x,4", "4,8@x"], inner(1, 0), "mesh axis twice"),
    (dot_general_p, ["8@x,4", "4,8"], inner(1, 0), "8@x,8"),
    (dot_general_p, ["8@x,4", "4,8@y"], inner(1, 0), "8@x,8@y"),
    (reshape_p, ["8@x,4@y"], reshape(32), "32@xy"),
    (reshape_p, ["8@x,4"], reshape(32), "32@x"),
    (reshape_p, ["8@x,4"], reshape(4, 2, 4), "4@x,2,4"),
    (reshape_p, ["8@x,4"], reshape(2, 4, 4), "2@x,4,4"),
    (reshape_p, ["8@x,4"], reshape(1, 8, 4), "1,8@x,4"),
    (reshape_p, ["8@x,4"], reshape(2, 16), "out_sharding"),
    (reshape_p, ["8@x,4@y"], reshape(4, 8), "out_sharding"),
    (transpose_p, ["8@x,4@y"], {"permutation": (1, 0)}, "4@y,8@x"),
    (squeeze_p, ["8@x,1"], {"dimensions": (1,)}, "8@x"),
    (reduce_sum_p, ["8@x,4@y"], {"axes": (0,), "out_sharding": None}, "4@y"),
    (argmax_p, ["8@x,4@y"], {"axes": (1,), "index_dtype": np.dtype("int32")}, "8@x"),
    (slice_p, ["8@x,4"], slicing((0, 0), (8, 2)), "8@x,2"),
    (slice_p, ["8@x,4"], slicing((0, 0), (4, 4)), "4@x,4"),
    (slice_p, ["8@x,4"], slicing((0, 0), (1, 4)), "not a multiple of 2"),
    (pad_p, ["8@x,4", ""], {"padding_config": ((1, 1, 0), (1, 1, 0))}, "10@x,6"),
    (concatenate_p, ["8@x,4@y", "8@x,4@y"], {"dimension": 0}, "16@x,4@y"),
    (concatenate_p, ["8@x,4@y", "8@x,4"], {"dimension": 0}, "in the same way"),
    (rev_p, ["8@x,4@y"], {"dimensions": (0,)}, "8@x,4@y"),
    (cumsum_p, ["8@x,4"], {"axis": 1, "reverse": False}, "8@x,4"),
    (cumsum_p, ["8@x,4"], {"axis": 0, "reverse": False}, "must not be sharded"),
    (sort_p, ["8@x,4"], {"dimension": 1, "is_stable": True, "num_keys": 1}, "8@x,4"),
    (sort_p, ["8@x,4"], {"dimension": 0, "is_stable": True, "num_keys": 1}, "must not be sharded"),
    (
        broadcast_in_dim_p,
        ["8@x"],
        {"shape": (8, 4), "broadcast_dimensions": (0,), "sharding": None},
        "8@x,4",
    ),
]


@pytest.mark.parametrize(("primitive", "operands", "params", "expected"), TABLE)
def test_shardings_pass_through(primitive, operands, params, expected):
    avals = tuple(map(typed, operands))
    if expected[0].isdigit() and "@" in expected:
        result = primitive.result_avals(avals, params)
        (result,) = result if primitive.multiple_results else [result]
        assert result.type_sharding == typed(expected).type_sharding
        assert result.shape == typed(expected).shape
    else:
        with pytest.raises(ShardingTypeError, match=expected) as error:
            primitive.result_avals(avals, params)
        assert primitive.name in str(error.value)
        assert "f32[8@x,4" in str(error.value)


def test_cases_must_have_equal_shardings():
    which = ShapedArray((8, 4), bool)
    one, other = typed("8@x,4"), typed("8,4")
    assert select_n_p.result_avals((which, one, one), {}) is one
    with pytest.raises(ShardingTypeError, match="in the same way"):
        select_n_p.result_avals((which, one, other), {})


def test_batches_of_matrices_may_be_sharded():
    params = {"full_matrices": False, "compute_uv": False, "subset_by_index": None}
    good, bad = typed("2@x,4,4"), typed("2,4@y,4")
    (s,) = svd_p.result_avals((good,), {**params, "algorithm": None})
    assert s.type_sharding == typed("2@x,4").type_sharding
    with pytest.raises(ShardingTypeError, match="svd"):
        svd_p.result_avals((bad,), {**params, "algorithm": None})


def test_slices_have_the_sharding_of_their_operands():
    index = ShapedArray((), "int32")
    x = typed("8@x,4")
    taken = dynamic_slice_p.result_avals((x, index, index), {"slice_sizes": (8, 2)})
    assert taken.type_sharding == typed("8@x,2").type_sharding
    taken = dynamic_slice_p.result_avals((x, index, index), {"slice_sizes": (1, 1)})
    assert taken.type_sharding is None
    with pytest.raises(ShardingTypeError, match="size 3, which is not a multiple of"):
        dynamic_slice_p.result_avals((x, index, index), {"slice_sizes": (3, 4)})
    with pytest.raises(ShardingTypeError, match="in the same way"):
        dynamic_update_slice_p.result_avals((x, typed("8,2"), index, index), {})
