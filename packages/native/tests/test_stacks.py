"""The kernels that stack many arrays and take rows of a stack apart."""

import numpy as np
import pytest

import ricci_lax as lax
from ricci_export import export
from ricci_lax.rolling import rows_p
from ricci_xla import jit

pytestmark = pytest.mark.usefixtures("wide")
DTYPES = ["bool", "int8", "uint16", "int64", "bfloat16", "float16", "float32", "float64"]


def stacked(*rows):
    return lax.stack(rows)


def taken_apart(x):
    return tuple(rows_p.bind(x + x if x.dtype != bool else x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(8, 3), (9,), (40, 2, 5), (16, 20_000)])
def test_stacks_and_rows_have_the_bits_of_their_parts(comparison, elements, dtype, shape):
    x = elements(dtype, shape)
    comparison.assert_equal_bits(stacked, *x)
    comparison.assert_equal_bits(lambda x: tuple(rows_p.bind(x)), x)
    np.testing.assert_array_equal(jit(stacked)(*x).view(np.uint8), x.view(np.uint8))


def test_complex_numbers(comparison):
    x = np.arange(24).reshape(12, 2) * (1 - 2j)
    for dtype in (np.complex64, np.complex128):
        comparison.assert_equal_bits(stacked, *x.astype(dtype))
        comparison.assert_equal_bits(taken_apart, x.astype(dtype))


def test_few_and_empty_rows_have_the_operations_of_xla(comparison):
    for shape in ((7, 4), (9, 0)):
        x = np.ones(shape)
        assert not comparison.calls_kernel(stacked, *x)
        assert not comparison.calls_kernel(taken_apart, x)


def test_stacks_of_computed_arrays_or_along_other_axes_are_operations_of_xla(comparison):
    x = np.ones((9, 4))
    assert not comparison.calls_kernel(lambda *rows: stacked(*(row + 1 for row in rows)), *x)
    assert not comparison.calls_kernel(lambda *rows: lax.stack(rows, axis=1), *x)


def test_exported_functions_stack_without_a_kernel():
    exported = export(jit(stacked))(*np.ones((9, 4), np.float32))
    assert "ricci_native" not in exported.mlir_module()
