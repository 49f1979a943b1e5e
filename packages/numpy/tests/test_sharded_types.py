"""Shardings in the types of operands that broadcast."""

import pytest

import ricci_numpy as jnp
from ricci_ir import ShapedArray, ShardingTypeError, make_type_sharding, trace_to_jaxpr


class Mesh:
    """The attributes of a mesh that rules read."""

    shape = {"x": 2, "y": 4}


mesh = Mesh()


def typed(shape, *parts):
    sharding = make_type_sharding(mesh, tuple(map(tuple, parts or [""] * len(shape))))
    return ShapedArray(shape, "float32", sharding=sharding)


def result_type(function, *avals):
    jaxpr = trace_to_jaxpr(lambda *xs: [function(*xs)], avals)
    return str(jaxpr.outvars[0].aval)


SHARDED = typed((8, 4), "x", "y")


@pytest.mark.parametrize(
    "function",
    [
        lambda a, row, whole: jnp.where(a > 0, a, 0.0),
        lambda a, row, whole: jnp.where(a > 0, 0.0, row),
        lambda a, row, whole: jnp.where(True, a, whole),
        lambda a, row, whole: jnp.where(row > 0, 1.0, a),
        lambda a, row, whole: jnp.select([a > 0, row > 0], [a, whole], 2.0),
        lambda a, row, whole: jnp.broadcast_arrays(row, a)[0],
        lambda a, row, whole: jnp.nan_to_num(a),
    ],
)
def test_result_is_sharded_as_the_sharded_operands(function):
    avals = SHARDED, typed((4,), "y"), typed((8, 4))
    assert result_type(function, *avals) == "float32[8@x,4@y]"


def test_differently_sharded_operands_raise():
    with pytest.raises(ShardingTypeError, match="where|select_n"):
        result_type(lambda a, b: jnp.where(a > 0, a, b), SHARDED, typed((8, 4), "x", ""))
