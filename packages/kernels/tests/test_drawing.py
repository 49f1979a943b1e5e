"""Pictures of grids: labels of blocks, revisits, elements that no step writes, and errors."""

from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="index maps are evaluated")

import ricci_ir as ir
import ricci_kernels as pl
import ricci_lax as lax
import ricci_numpy as jnp
from ricci_kernels import tpu as pltpu
from ricci_kernels.tools import draw

NAMESPACE = "{http://www.w3.org/2000/svg}"


def shape(*dims, dtype=np.float32):
    return ir.ShapeDtypeStruct(dims, np.dtype(dtype))


def call(grid, in_specs, out_specs, out=(4, 4), **options):
    def kernel(*refs):
        del refs

    spec = {"grid": grid, "in_specs": in_specs, "out_specs": out_specs}
    return pl.pallas_call(kernel, shape(*out), interpret=True, **spec, **options)


def panels(picture):
    """The labels of the cells of each panel."""
    root = ElementTree.fromstring(picture)
    return [
        [text.text for text in group.iter(f"{NAMESPACE}text") if text.get("class") == "cell"]
        for group in root.iter(f"{NAMESPACE}g")
    ]


MATMUL = call(
    (2, 2, 2),
    [pl.BlockSpec((2, 2), lambda i, j, k: (i, k)), pl.BlockSpec((2, 2), lambda i, j, k: (k, j))],
    pl.BlockSpec((2, 2), lambda i, j, k: (i, j)),
)


def test_blocks_have_the_numbers_of_their_steps():
    left, right, out = panels(draw(MATMUL, shape(4, 4), shape(4, 4)))
    assert left == ["0, 2", "1, 3", "4, 6", "5, 7"]
    assert right == ["0, 4", "1, 5", "2, 6", "3, 7"]
    assert out == ["0–1", "2–3", "4–5", "6–7"]


def test_a_summary_counts_transfers():
    picture = draw(MATMUL, shape(4, 4), shape(4, 4))
    assert picture.count("4 blocks, fetched 8 times") == 2
    assert "4 blocks, written back 4 times" in picture


def test_a_step_is_outlined_in_each_operand():
    picture = draw(MATMUL, shape(4, 4), shape(4, 4), step=5)
    assert picture.count('class="step"') == 3


def test_an_output_that_is_left_and_visited_again_is_marked():
    swapped = call((2, 2), [], pl.BlockSpec((2, 4), lambda i, j: (j, 0)))
    assert "2 blocks left and visited again" in draw(swapped)
    assert "visited again" not in draw(call(2, [], pl.BlockSpec((2, 4), lambda i: (i, 0))))


def test_an_array_with_elements_that_no_step_writes_has_a_dashed_outline():
    assert "dasharray" in draw(call(1, [], pl.BlockSpec((2, 4), lambda i: (i, 0))))
    assert "dasharray" not in draw(call(2, [], pl.BlockSpec((2, 4), lambda i: (i, 0))))


@pytest.mark.parametrize(
    ("shape_", "block", "index", "count"),
    [
        ((), (), lambda i: (), 1),
        ((8,), (4,), lambda i: (i,), 2),
        ((2, 4, 4), (1, 4, 4), lambda i: (i, 0, 0), 2),
        ((2, 4, 4), (2, 2, 4), lambda i: (0, i, 0), 4),
        ((6, 4), (pl.Element(4), pl.Element(4)), lambda i: (i * 2, 0), 2),
        ((3, 4), (2, 4), lambda i: (i, 0), 2),
        ((0, 4), (1, 4), lambda i: (0, 0), 0),
        ((2, 3, 4, 5), (None, 1, 4, 5), lambda i: (i, 1, 0, 0), 2),
    ],
)
def test_blocks_of_any_rank_are_inside_of_the_picture(shape_, block, index, count):
    run = call(2, [pl.BlockSpec(block, index)], pl.BlockSpec((2, 4), lambda i: (i, 0)))
    root = ElementTree.fromstring(draw(run, shape(*shape_)))
    first = next(root.iter(f"{NAMESPACE}g"))
    outline, *blocks = list(first.iter(f"{NAMESPACE}rect"))
    assert len(blocks) == count
    for rect in blocks:
        for place, size in (("x", "width"), ("y", "height")):
            low, high = (float(outline.get(n)) for n in (place, size))
            start, length = (float(rect.get(n)) for n in (place, size))
            assert start >= low - 0.1
            assert start + length <= low + high + 0.2


PREFETCH = pl.pallas_call(
    lambda order, x, out: None,
    shape(4, 4),
    grid_spec=pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(2,),
        in_specs=[pl.BlockSpec((2, 4), lambda i, order: (order[i], 0))],
        out_specs=pl.BlockSpec((2, 4), lambda i, order: (i, 0)),
    ),
    interpret=True,
)


def test_index_maps_read_scalars():
    assert panels(draw(PREFETCH, np.int32([1, 0]), shape(4, 4)))[0] == ["0", "1"]
    picture = draw(lambda order, x: PREFETCH(order, x) + 1, np.int32([1, 1]), shape(4, 4))
    assert panels(picture)[0] == ["0–1"]
    with pytest.raises(ValueError, match="reads a scalar of unknown value"):
        draw(PREFETCH, shape(2, dtype=np.int32), shape(4, 4))


def test_a_traced_grid_is_drawn_by_its_value():
    def run(n, x):
        rows = pl.BlockSpec((2, 4), lambda i: (i, 0))
        return call(n, [rows], rows)(x)

    assert panels(draw(run, jnp.int32(2), shape(4, 4)))[1] == ["0", "1"]
    with pytest.raises(ValueError, match="grid whose sizes are computed"):
        draw(lambda n, x: run(n + 1, x), jnp.int32(1), shape(4, 4))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ValueError, match="calls no kernel"):
        draw(lax.sin, shape(2))
    with pytest.raises(ValueError, match="at most 4,096"):
        draw(call(5000, [], pl.BlockSpec((4, 4), lambda i: (0, 0))))
    with pytest.raises(ValueError, match="step=8 is not one of the 8 steps"):
        draw(MATMUL, shape(4, 4), shape(4, 4), step=8)
