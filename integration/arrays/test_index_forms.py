"""Forms of indices that arrays of NumPy do not have, or treat otherwise: as real JAX."""

import pytest

from ricci_testing import assert_same
from ricci_testing.pytest_plugin import oracle as oracle

pytestmark = pytest.mark.usefixtures("oracle")

PREAMBLE = """
try:
    from ricci.numpy import ndarray
    from ricci_numpy.authoring import ds
except ImportError:
    from jax._src.state.indexing import ds
x = jnp.arange(24.0).reshape(4, 6)
n = np.arange(24.0).reshape(4, 6)
no = lambda *shape: np.zeros(shape, bool)
i = jnp.int32(1)
"""
WINDOWS = ["1, 2", "2", "None", "0, 4", "1, 0", "3, 3", "-1, 2", "-3, 2", "1, -1", "None, 2"]
CASES = [
    *(f"x[ds({window})]" for window in WINDOWS),
    *(f"x[:, ds({window})]" for window in WINDOWS),
    *(f"jax.jit(lambda x: x[0, ds({window})])(x)" for window in WINDOWS),
    *(
        f"x.at[ds({window})].set(1.0)"
        for window in WINDOWS
        if "3" not in window and "-" not in window
    ),
    "jax.jit(lambda i: x[ds(i, 2)])(1)",
    "jax.jit(lambda i: x[:, ds(i, 2)])(jnp.uint8(5))",
    "jax.jit(lambda i: x[jnp.array([0, 1]), ds(i, 2)])(1)",
    "jax.grad(lambda x: x[ds(1, 2), 0].sum())(x)",
    # masks without elements
    "jnp.zeros((0, 3))[no(0)]",
    "jnp.zeros((0, 3))[no(0, 3)]",
    "jnp.zeros((3, 0))[..., no(0)]",
    "jnp.zeros((0, 3))[..., no(0)]",
    "x[no(0)]",
    "x[:, no(0)]",
    "x[no(0, 6)]",
    *(f"x[no{shape}]" for shape in ((2, 0), (4, 0), (0, 5), (0, 0))),
    "x[[]]",
    "x[no(3)]",
    # delete
    *(f"jnp.delete({a}, {j}, axis=0)" for a in "nx" for j in ("1", "-1", "np.int64(2)", "[0, 2]")),
    "jnp.delete(n, 1, axis=1)",
    "jnp.delete(n, 3)",
    "jnp.delete(np.arange(5), 2)",
    "jnp.delete(n, np.array([], int), axis=0)",
    # elements along an axis, through a mask
    *(
        f"jnp.take_along_axis(x.astype({dtype!r}), jnp.array({where}), axis={axis}, mode='one_hot')"
        for dtype in ("float32", "int32", "bool", "complex64")
        for where, axis in (
            ("[[0, 1, 2], [1, 5, 9], [-1, -6, -7], [0, 0, 0]]", 1),
            ("[[0, 3]]", -1),
            ("[[1], [5]]", 0),
        )
    ),
    "jnp.take_along_axis(x, jnp.arange(3), axis=None, mode='one_hot')",
    "jnp.take_along_axis(x, jnp.zeros((3, 2), int), axis=1, mode='one_hot')",
    "jax.grad(lambda x: jnp.take_along_axis("
    "x, jnp.array([[1, 1]]), axis=1, mode='one_hot').sum())(x)",
    # r_ and c_
    *(
        f"jnp.r_[{parts}]"
        for parts in (
            "0:3, 5, 6.0",
            "jnp.array([1, 2]), 0, 0",
            "0:1:5j",
            "-1:1:6j, [0] * 3, 5",
            "3:0:-1",
            "'0,2', [1, 2], [3, 4]",
            "'1,2,0', [1, 2], [3, 4]",
            "'-1', x, x",
            "'r', [1, 2], [3]",
            "True, False",
            "x, x",
            "0:2:0.5",
        )
    ),
    "jnp.c_[jnp.arange(3), jnp.arange(3)]",
    "jnp.c_[0:3, 1:4]",
]
STATIC = [
    "x[9]", "x[-5]", "x[3]", "x[-4]", "x[0, 7]", "x[..., -7]", "x[3:99]", "x[ds(3, 3)]",
    "x[np.array([0, 9])]", "jax.jit(lambda: x[9])()",
    *(f"x.at[9].get(mode={mode!r})" for mode in (None, "fill", "clip", "promise_in_bounds")),
    "x.at[-1].get(wrap_negative_indices=False)", "x.at[3].get()",
]  # fmt: skip


@pytest.mark.sampled(27)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("source", CASES)
def test_index_forms_select_the_same_as_jax(source, wide):
    assert_same(f"{PREAMBLE}\n{source}", config={"jax_enable_x64": wide})


@pytest.mark.parametrize("source", STATIC)
def test_static_indices_are_checked_where_jax_checks_them(source):
    assert_same(f"{PREAMBLE}\n{source}", config={"jax_check_static_indices": True})
