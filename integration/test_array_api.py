"""Elementwise functions have the special values of the array API standard.

Each function is computed on all rows of its table as it stands, where NumPy may compute the first
calls, and compiled.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

pytest.importorskip("ricci_xla", reason="values need the compiler")
from array_api import TABLES, rows
from array_api.special_values import ODD

import ricci
import ricci.numpy as jnp
from ricci_ir import enable_x64

PRECISIONS = {"float32": 3e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 1e-2}
COMPLEX = {"float32": "complex64", "float64": "complex128"}


def parts_of(x):
    x = np.asarray(x)
    pair = (x.real, x.imag) if np.iscomplexobj(x) else (x,)
    return list(zip(*(part.astype(np.float64).tolist() for part in pair), strict=True))


def check(function, table, operands, rtol):
    for form in (function, ricci.jit(function)):
        found = parts_of(form(*operands))
        wrong = [
            f"{row.text}: {row.operands} gives {parts}, not {row.parts}"
            for row, parts in zip(table, found, strict=True)
            if not row.accepts(parts, rtol)
        ]
        assert not wrong, "\n".join(wrong)


@pytest.mark.sampled(50)
@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in ("real", "binary") for name in TABLES[kind]]
)
def test_of_real_numbers(kind, name, dtype):
    table = list(rows(TABLES[kind][name]))
    with enable_x64(dtype == "float64"):
        columns = zip(*(row.operands for row in table), strict=True)
        operands = [jnp.asarray(np.array(column), dtype) for column in columns]
        check(getattr(jnp, name), table, operands, PRECISIONS[dtype])


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", TABLES["complex"])
def test_of_complex_numbers(name, dtype):
    mirrored = name not in ("abs", "sign")
    table = list(rows(TABLES["complex"][name], conjugates=mirrored, odd=name in ODD))
    with enable_x64(dtype == "float64"):
        pairs = np.array([row.operands for row in table], dtype)
        numbers = jnp.asarray(pairs.view(COMPLEX[dtype])[:, 0])
        check(getattr(jnp, name), table, [numbers], PRECISIONS[dtype])
