"""Elementwise functions have the special values of the array API standard.

Each function is computed on all rows of its table as it stands, where NumPy may compute the first
calls, and compiled.
"""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="values need the compiler")
from array_api import TABLES, rows
from array_api.special_values import ODD, TURNED

import ricci
import ricci.numpy as jnp
from ricci import lax
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


@pytest.mark.sampled(15)
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


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", TABLES["complex"])
def test_of_complex_numbers(name, dtype):
    mirrored = name not in ("abs", "sign")
    table = list(rows(TABLES["complex"][name], conjugates=mirrored, odd=name in ODD))
    with enable_x64(dtype == "float64"):
        pairs = np.array([row.operands for row in table], dtype)
        numbers = jnp.asarray(pairs.view(COMPLEX[dtype])[:, 0])
        check(getattr(jnp, name), table, [numbers], PRECISIONS[dtype])


def of_complex(name):
    """The rows of a function's table with their conjugates."""
    return list(rows(TABLES["complex"][name], conjugates=True, odd=name in ODD))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", TURNED)
def test_of_imaginary_angles(name, dtype):
    table = of_complex(TURNED[name])
    with enable_x64(dtype == "float64"):
        pairs = np.array([(b, -a) for a, b in (row.operands for row in table)], dtype)
        numbers = jnp.asarray(pairs.view(COMPLEX[dtype])[:, 0])
        turned = lambda x: lax.complex(-x.imag, x.real)
        function = getattr(jnp, name)
        found = function if name == "cos" else lambda x: turned(function(x))
        check(found, table, [numbers], PRECISIONS[dtype])


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("name", ["log2", "log10"])
def test_of_logarithms_to_other_bases(name, dtype):
    base = np.log(float(name[3:]))
    natural = of_complex("log")
    table = [replace(row, parts=tuple(p / base for p in row.parts)) for row in natural]
    with enable_x64(dtype == "float64"):
        pairs = np.array([row.operands for row in table], dtype)
        numbers = jnp.asarray(pairs.view(COMPLEX[dtype])[:, 0])
        check(getattr(jnp, name), table, [numbers], PRECISIONS[dtype])
