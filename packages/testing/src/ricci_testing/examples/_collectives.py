"""Operands and parameters on which the laws of collectives are checked.

Operands have a leading dimension for each named axis: the laws run under ``vmap`` over those.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ricci_ir import DTypeLike, bfloat16

# A row of examples: the operands, and the parameters.
type Row = tuple[tuple[np.ndarray, ...], dict[str, Any]]

# The sizes of named axes, and the rows of examples over them.
type Rows = tuple[Mapping[str, int], Callable[[], Iterator[Row]]]

_ONE = {"i": 4}
_TWO = {"i": 2, "j": 3}
_GROUPS = ((2, 0), (1, 3))
_UNEVEN = ((2, 0, 3), (1,))


def _values(*shape: int, dtype: DTypeLike = np.float32) -> np.ndarray:
    count = int(np.prod(shape))
    # Values of either sign in no order, all different up to 101 of them.
    values = (np.arange(count) * 37 % 101 - 50) / 25
    if np.dtype(dtype).kind in "iu":
        return (values * 25).astype(dtype).reshape(shape)
    return values.astype(dtype).reshape(shape)


def _reductions_over_one() -> Iterator[Row]:
    whole = {"axes": ("i",), "axis_index_groups": None}
    yield (_values(4, 2, 3),), whole
    yield (_values(4),), whole
    yield (_values(4, 3, dtype=np.int32),), whole
    yield (_values(4, 3, dtype=bfloat16),), whole
    yield (_values(4, 2, 0),), whole
    yield (_values(4, 3),), {**whole, "axis_index_groups": _GROUPS}
    yield (_values(4, 3),), {**whole, "axis_index_groups": _UNEVEN}


def _reductions_over_two() -> Iterator[Row]:
    for axes in (("i", "j"), ("j", "i"), ("j",)):
        yield (_values(2, 3, 2),), {"axes": axes, "axis_index_groups": None}


_reduction: tuple[Rows, ...] = ((_ONE, _reductions_over_one), (_TWO, _reductions_over_two))


def _over(
    names: tuple[str, ...], size: int, groups: object = None, **params: object
) -> dict[str, Any]:
    return {"axis_index_groups": groups, "axis_name": names, "axis_size": size, **params}


def _gathering_over_one() -> Iterator[Row]:
    over = lambda dim, tiled, **more: {
        **_over(("i",), 4), "all_gather_dimension": dim, "tiled": tiled, **more
    }  # fmt: skip
    for dim in (0, 1, 2):
        yield (_values(4, 2, 3),), over(dim, False)
    for dim in (0, 1):
        yield (_values(4, 2, 3),), over(dim, True)
    yield (_values(4),), over(0, False)
    yield (_values(4, 3) > 0,), over(0, True)
    yield (_values(4, 2, 0),), over(1, True)
    for tiled in (False, True):
        grouped = {"axis_index_groups": _GROUPS, "axis_size": 2}
        yield (_values(4, 2, 3),), over(1, tiled, **grouped)


def _gathering_over_two() -> Iterator[Row]:
    for names in (("i", "j"), ("j", "i")):
        for tiled in (False, True):
            over = _over(names, 6, all_gather_dimension=1, tiled=tiled)
            yield (_values(2, 3, 2, 2),), over


_gathering: tuple[Rows, ...] = ((_ONE, _gathering_over_one), (_TWO, _gathering_over_two))


def _without_groups(rows: Callable[[], Iterator[Row]]) -> Callable[[], Iterator[Row]]:
    def examples() -> Iterator[Row]:
        for args, params in rows():
            if params["axis_index_groups"] is None:
                yield args, {k: v for k, v in params.items() if k != "axis_index_groups"}

    return examples


_shared_gathering: tuple[Rows, ...] = tuple(
    (axes, _without_groups(rows)) for axes, rows in _gathering
)


def _scattering_over_one() -> Iterator[Row]:
    over = lambda dim, tiled, **more: {
        **_over(("i",), 4), "scatter_dimension": dim, "tiled": tiled, **more
    }  # fmt: skip
    yield (_values(4, 4, 3),), over(0, False)
    yield (_values(4, 3, 4),), over(1, False)
    yield (_values(4, 8, 3),), over(0, True)
    yield (_values(4, 2, 8, dtype=np.int32),), over(1, True)
    yield (_values(4, 4),), over(0, False)
    yield (_values(4, 4, 0),), over(0, True)
    for tiled in (False, True):
        grouped = {"axis_index_groups": _GROUPS, "axis_size": 2}
        yield (_values(4, 3, 2),), over(1, tiled, **grouped)


def _scattering_over_two() -> Iterator[Row]:
    for names in (("i", "j"), ("j", "i")):
        yield (_values(2, 3, 2, 6),), _over(names, 6, scatter_dimension=1, tiled=False)
        yield (_values(2, 3, 12, 2),), _over(names, 6, scatter_dimension=0, tiled=True)


_scattering: tuple[Rows, ...] = ((_ONE, _scattering_over_one), (_TWO, _scattering_over_two))


_unreduced_scattering: tuple[Rows, ...] = tuple(
    (axes, _without_groups(rows)) for axes, rows in _scattering
)


def _exchange_over_one() -> Iterator[Row]:
    over = lambda split, concat, **more: {
        **_over(("i",), 4), "split_axis": split, "concat_axis": concat, "tiled": True, **more
    }  # fmt: skip
    yield (_values(4, 8, 3),), over(0, 0)
    yield (_values(4, 8, 3),), over(0, 1)
    yield (_values(4, 2, 4, 3),), over(1, 0)
    yield (_values(4, 2, 4, 3),), over(1, 2)
    yield (_values(4, 4) > 0,), over(0, 0, tiled=False)
    yield (_values(4, 4, 0),), over(0, 1)
    yield (_values(4, 4, 3),), over(0, 1, axis_index_groups=_GROUPS, axis_size=2)


def _exchange_over_two() -> Iterator[Row]:
    for names in (("i", "j"), ("j", "i")):
        for split, concat in ((0, 0), (1, 0)):
            yield (
                (_values(2, 3, 12, 6),),
                _over(names, 6, split_axis=split, concat_axis=concat, tiled=True),
            )


_exchange: tuple[Rows, ...] = ((_ONE, _exchange_over_one), (_TWO, _exchange_over_two))


def _permutation_over_one() -> Iterator[Row]:
    turn = ((0, 1), (1, 2), (2, 3), (3, 0))
    for perm in (turn, ((0, 3), (2, 2)), ()):
        yield (_values(4, 2, 3),), {"axis_name": ("i",), "perm": perm}
    yield (_values(4),), {"axis_name": ("i",), "perm": turn}
    yield (_values(4, 3) > 0,), {"axis_name": ("i",), "perm": turn}
    yield (_values(4, 0),), {"axis_name": ("i",), "perm": turn}


def _permutation_over_two() -> Iterator[Row]:
    turn = tuple((k, (k + 1) % 6) for k in range(6))
    for names in (("i", "j"), ("j", "i")):
        for perm in (turn, ((0, 5), (3, 1), (4, 4))):
            yield (_values(2, 3, 2),), {"axis_name": names, "perm": perm}


_permutation: tuple[Rows, ...] = ((_ONE, _permutation_over_one), (_TWO, _permutation_over_two))


def _broadcast_over_one() -> Iterator[Row]:
    for shape in ((4, 2, 3), (4,), (4, 0)):
        yield (_values(*shape),), {"axis_name": "i", "source": 2}
    yield (_values(4, 3, dtype=np.int32),), {"axis_name": "i", "source": 0}


def _broadcast_over_two() -> Iterator[Row]:
    for names, source in ((("i", "j"), 4), (("j", "i"), 1)):
        yield (_values(2, 3, 2),), {"axis_name": names, "source": source}


_broadcast: tuple[Rows, ...] = ((_ONE, _broadcast_over_one), (_TWO, _broadcast_over_two))


def _ragged() -> Iterator[Row]:
    """Examples of members that send consecutive ranges of their rows, by a table of sizes."""
    params = {"axis_index_groups": None, "axis_name": ("i",)}
    tables = _ragged_tables(np.array([[1, 1], [0, 2]], np.int32))
    yield (_values(2, 3, 2), _values(2, 4, 2), *tables), params


def _ragged_tables(sizes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return offsets and sizes of an exchange where member ``i`` sends ``sizes[i, j]`` rows."""
    # An offset is the sum of the sizes before.
    before = lambda table, axis: np.cumsum(table, axis, dtype=table.dtype) - table
    return before(sizes, 1), sizes, before(sizes, 0), sizes.T.copy()


# For each collective, its examples over named axes, and the operands that all of a batch share.
collective_pairs: dict[str, tuple[tuple[Rows, ...], tuple[int, ...]]] = {
    **dict.fromkeys(("all_gather_invariant", "all_gather_reduced"), (_shared_gathering, ())),
    **dict.fromkeys(("pmax", "pmin", "psum"), (_reduction, ())),
    "all_gather": (_gathering, ()),
    "all_to_all": (_exchange, ()),
    "pbroadcast": (_broadcast, ()),
    "ppermute": (_permutation, ()),
    "ragged_all_to_all": ((({"i": 2}, _ragged),), (2, 3, 4, 5)),
    "reduce_scatter": (_scattering, ()),
    "unreduced_reduce_scatter": (_unreduced_scattering, ()),
}
