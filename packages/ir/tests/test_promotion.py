"""Dtype promotion: the complete tables of the oracle, and what operands count as."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from ricci_ir._config import config, enable_x64, explicit_x64_dtypes, numpy_dtype_promotion
from ricci_ir.types import _dtypes as dtypes
from ricci_ir.types._promotion import (
    TypePromotionError,
    is_weakly_typed,
    lattice_result_type,
    promote_types,
    result_type,
)


class Table(NamedTuple):
    x64: bool
    mode: str
    single: str
    pairs: list[str]
    promoted: list[str]
    several: list[tuple[str, str]]


def _read_tables() -> tuple[list[np.dtype], list[Table]]:
    path = Path(__file__).parent / "data" / "promotion.txt"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    names = lines[0].split()
    found = [np.dtype(getattr(dtypes, name, name)) for name in names]
    n = len(names)
    size = 3 + 3 * n
    tables = []
    for start in range(1, len(lines), size):
        block = lines[start : start + size]
        x64, mode = block[0].split()
        several = [(item[:-2], item[-1]) for item in block[-1].split(" ")]
        tables.append(
            Table(
                x64 == "x64=1", mode, block[1], block[2 : 2 + 2 * n], block[2 + 2 * n : -1], several
            )
        )
    return found, tables


DTYPES, TABLES = _read_tables()
N = len(DTYPES)
table = pytest.mark.parametrize("table", TABLES, ids=lambda t: f"x64={t.x64}-{t.mode}")


def _operand(i: int) -> tuple[np.dtype, bool]:
    return dtypes.canonicalize_dtype(DTYPES[i % N]), i >= N


def _code(compute, *args) -> str:
    try:
        found, weak = compute(*args)
    except TypePromotionError:
        return "!"
    return chr(48 + DTYPES.index(found) + N * weak)


def _differences(expected, results) -> list:
    pairs = zip(expected, results, strict=True)
    return [(e, r) for e, r in pairs if e[1] != "?" and e != r]


def test_tables_are_complete():
    assert [(t.x64, t.mode) for t in TABLES] == [
        (x64, mode) for x64 in (False, True) for mode in ("standard", "strict")
    ]
    assert set(DTYPES) == dtypes.array_dtypes
    for t in TABLES:
        assert len(t.single) == 2 * N and len(t.several) == 150
        assert {len(row) for row in t.pairs} == {2 * N} and len(t.pairs) == 2 * N
        assert {len(row) for row in t.promoted} == {N} and len(t.promoted) == N


@table
def test_one_operand(table):
    with enable_x64(table.x64), numpy_dtype_promotion(table.mode):
        results = [(i, _code(lattice_result_type, _operand(i))) for i in range(2 * N)]
    assert _differences(enumerate(table.single), results) == []


@table
def test_every_pair(table):
    expected = [((i, j), c) for i, row in enumerate(table.pairs) for j, c in enumerate(row)]
    with enable_x64(table.x64), numpy_dtype_promotion(table.mode):
        results = [
            ((i, j), _code(lattice_result_type, _operand(i), _operand(j))) for (i, j), _ in expected
        ]
    assert _differences(expected, results) == []


@table
def test_several_operands(table):
    with enable_x64(table.x64), numpy_dtype_promotion(table.mode):
        results = [
            (key, _code(lattice_result_type, *(_operand(ord(c) - 48) for c in key)))
            for key, _ in table.several
        ]
    assert _differences(table.several, results) == []


@table
def test_promote_types(table):
    expected = [((i, j), c) for i, row in enumerate(table.promoted) for j, c in enumerate(row)]

    def strong(i, j):
        return promote_types(DTYPES[i], DTYPES[j]), False

    with enable_x64(table.x64), numpy_dtype_promotion(table.mode):
        results = [((i, j), _code(strong, i, j)) for (i, j), _ in expected]
    assert _differences(expected, results) == []


@pytest.mark.parametrize(
    ("operands", "expected", "weak"),
    [
        ((1,), "int32", True),
        ((1.0, np.int8(1)), "float32", True),
        ((np.float64(1),), "float32", False),
        ((np.zeros(2), 1), "float32", False),
        ((np.int8, 1.0), "float32", True),
        ((int,), "int32", True),
        ((float, dtypes.bfloat16), "bfloat16", False),
        (("float16", 1j), "complex64", False),
        ((bool,), "bool", False),
        ((True, 1), "int32", True),
        ((None,), "float32", False),
        ((2**40, np.int8), "int8", False),
        ((dtypes.float8_e4m3fn, 1.0), "float8_e4m3fn", False),
        ((dtypes.float0, dtypes.float0), "void", False),
    ],
)
def test_operands_of_all_sorts(operands, expected, weak):
    found = result_type(*operands, return_weak_type_flag=True)
    assert (found[0].name, found[1]) == (expected, weak)


class _Array:
    def __init__(self, dtype, weak_type):
        self.aval = self
        self.dtype, self.weak_type = np.dtype(dtype), weak_type


def test_arrays_are_asked_for_their_aval():
    weak = _Array("float32", True)
    assert result_type(weak, np.int8, return_weak_type_flag=True) == (np.dtype("float32"), True)
    assert result_type(weak, np.float16, return_weak_type_flag=True) == (np.dtype("f2"), False)
    assert is_weakly_typed(weak) and not is_weakly_typed(_Array("float32", False))


def test_an_array_of_64_bits_stays_so_alone():
    assert result_type(_Array("int64", False)) == np.dtype("int64")
    assert result_type(_Array("int64", False), np.int8) == np.dtype("int32")


@pytest.mark.parametrize("dtype", ["int64", "float64", "complex128"])
def test_weak_and_strong_operands_of_one_wide_dtype_keep_it_while_wide_dtypes_are_off(dtype):
    strong, weak = _Array(dtype, False), _Array(dtype, True)
    for operands in ((strong, weak), (weak, strong), (weak, strong, weak)):
        assert result_type(*operands, return_weak_type_flag=True) == (np.dtype(dtype), False)
    narrow = dtypes.canonicalize_dtype(dtype)
    assert result_type(weak, weak, return_weak_type_flag=True) == (narrow, True)


@pytest.mark.parametrize(
    ("operands", "error"),
    [
        ((), ValueError),
        (([1, 2],), TypeError),
        ((object(),), TypeError),
        (("no such dtype",), TypeError),
        ((np.datetime64("2020"),), TypeError),
        ((np.array(["a"]),), TypeError),
        ((np.array([None]), np.float32), TypeError),
        ((np.dtype(">f4"),), TypeError),
        ((str,), TypeError),
        ((np.floating,), TypeError),
        ((dtypes.float0, np.float32), ValueError),
        ((dtypes.int4, np.int8), TypePromotionError),
        ((dtypes.float8_e5m2, dtypes.bfloat16), TypePromotionError),
    ],
)
def test_refused_operands(operands, error):
    with pytest.raises(error):
        result_type(*operands)


def test_strict_message_names_dtypes_and_remedy():
    with (
        numpy_dtype_promotion("strict"),
        pytest.raises(TypePromotionError, match=r"Python float, int8 .*strict.*astype"),
    ):
        result_type(np.int8, 1.0)


def test_explicit_64_bit_dtypes_follow_the_option():
    with pytest.warns(UserWarning, match="int64 was asked for.*int32 is used"):
        assert result_type("int64") == np.dtype("int32")
    with explicit_x64_dtypes("error"), pytest.raises(ValueError, match="jax_enable_x64"):
        result_type("int64")
    with explicit_x64_dtypes("allow"):
        assert result_type("int64") == np.dtype("int64")
        assert result_type(int) == np.dtype("int32")
    with enable_x64(True):
        assert result_type("int64") == result_type(int) == np.dtype("int64")
    assert config.x64_enabled is False
