"""What the tests of kernels share: calls with and without them."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import ricci_ir as ir
from ricci_native import library_path
from ricci_xla import jit

HERE = Path(__file__).parent
NOT_BUILT = "the library is not built, since there was no C++ compiler"


def pytest_configure(config):
    """Declare the marker of tests that need no library."""
    config.addinivalue_line("markers", "without_library: also where the library is not built")


def pytest_collection_modifyitems(items):
    """Skip what needs the library where it is not built."""
    if library_path() is None:
        for item in items:
            if item.path.parent == HERE and "without_library" not in item.keywords:
                item.add_marker(pytest.mark.skip(reason=NOT_BUILT))


@pytest.fixture(autouse=True)
def _enabled():
    before = ir.native_kernels.get_global()
    ir.native_kernels.set_global(True)
    yield
    ir.native_kernels.set_global(before)


class Comparison:
    """Calls of a function with the kernels and with XLA's operations alone."""

    def text(self, function, *args):
        """Return the module of the function, as it is compiled here."""
        return jit(lambda *xs: function(*xs)).lower(*args).as_text()

    def calls_kernel(self, function, *args, name=""):
        """Whether the function calls a kernel, or that of a name."""
        return f"ricci_native_{name}" in self.text(function, *args)

    def assert_equal_bits(self, function, *args):
        """Check that the kernel is called, and that its results have the bits of XLA's."""
        assert self.calls_kernel(function, *args)
        results = []
        for enabled in (True, False):
            with ir.native_kernels(enabled):
                outs = jit(function)(*args)
            outs = outs if isinstance(outs, tuple | list) else [outs]
            results.append([np.asarray(out) for out in outs])
        for ours, theirs in zip(*results, strict=True):
            assert ours.dtype == theirs.dtype
            assert ours.shape == theirs.shape
            bits = [np.atleast_1d(x).view(np.uint8) for x in (ours, theirs)]
            np.testing.assert_array_equal(*bits)


@pytest.fixture
def comparison():
    """The calls with and without kernels."""
    return Comparison()


@pytest.fixture
def wide():
    """64-bit types."""
    with ir.enable_x64(True):
        yield


_UINTS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _elements(name, shape, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    if name == "bool":
        return rng.random(shape) < 0.5
    unsigned = _UINTS[dtype.itemsize]
    bits = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(unsigned)[..., 0]
    if dtype.kind in "iu":
        return np.where(rng.random(shape) < 0.3, bits % 5, bits).astype(unsigned).view(dtype)
    infinity, sign = (np.array(value, dtype).view(unsigned) for value in (np.inf, -0.0))
    numbers = [np.array(value, dtype).view(unsigned) for value in (0.0, 1.0, -1.0, -np.inf)]
    nans = [infinity + 1, sign | infinity | 1, np.full((), -1).astype(unsigned)]
    subnormal = [unsigned(1), sign | 3]
    special = np.array([*numbers, sign, infinity, *nans, *subnormal], unsigned)
    picked = special[rng.integers(0, len(special), shape)]
    return np.where(rng.random(shape) < 0.4, picked, bits).view(dtype)


@pytest.fixture
def elements():
    """Arrays by dtype and shape: ties, zeros, infinities, subnormal numbers, many kinds of NaN."""
    return _elements
