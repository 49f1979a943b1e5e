"""The example of a custom operation, and the page that explains it."""

import doctest
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="calls of compiled functions need the runtime")

from ffi.build import HERE, build, compiler
from ffi.rms_norm import register, rms_norm

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from ricci_testing import check_grads

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "custom-operations.md"
RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 5))
W = RNG.uniform(0.5, 2, size=5)
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler is installed")


@pytest.fixture(scope="module")
def registered(tmp_path_factory):
    if compiler() is None:
        pytest.skip("no C++ compiler is installed")
    register(build("rms_norm.cc", tmp_path_factory.mktemp("rms_norm")))


def expected(x, weight, eps=1e-6):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def loss(norm):
    return lambda x, w: (norm(x, w) * jnp.cos(jnp.arange(x.size)).reshape(x.shape)).sum()


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("dtype", "tolerance", "wrap"),
    [(np.float32, 1e-5, lambda f: f), (np.float64, 1e-12, jax.jit)],
    ids=["eager", "jit"],
)
def test_values_and_derivatives(dtype, tolerance, wrap):
    with jax.enable_x64(dtype is np.float64):
        x, w = jnp.asarray(A.astype(dtype)), jnp.asarray(W.astype(dtype))
        close = lambda f, *args: np.testing.assert_allclose(
            *(wrap(f(norm))(*args) for norm in (rms_norm, expected)), tolerance, tolerance
        )
        close(lambda norm: norm, x, w)
        close(lambda norm: lambda x, w: norm(x, w, 0.5), x, w)
        close(lambda norm: lambda x, w: norm(x, w), x[:0], w)
        for argnum in (0, 1):
            close(lambda norm, i=argnum: jax.grad(loss(norm), i), x, w)
        for axes in ((0, 0), (0, None), (None, 0), (1, 0)):
            rows = [
                jnp.stack([v, 2 * v, v - 1], axis) if axis is not None else v
                for v, axis in zip((x, w), axes, strict=True)
            ]
            for i in (0, 1):
                close(lambda norm, i=i, a=axes: jax.vmap(jax.grad(loss(norm), i), a), *rows)
        in_a_loop = lambda norm: (
            lambda x, w: jax.lax.scan(lambda c, _: (norm(c, w), c.sum()), x, length=3)[0].sum()
        )
        close(lambda norm: jax.grad(lambda x, w: in_a_loop(norm)(x, w) ** 2), x, w)
        close(lambda norm: jax.grad(loss(jax.checkpoint(norm))), x, w)


@pytest.mark.usefixtures("registered")
def test_the_derivative_is_that_of_finite_differences():
    with jax.enable_x64():
        check_grads(rms_norm, (jnp.asarray(A), jnp.asarray(W)), order=1, modes=["rev"])


@pytest.mark.usefixtures("registered", "eight_devices")
def test_batches_are_divided_over_devices():
    mesh = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
    x = np.float32(RNG.normal(size=(16, 4, 5)))
    divided = jax.device_put(x, NamedSharding(mesh, P("i")))
    f = jax.jit(jax.vmap(jax.grad(loss(rms_norm), (0, 1)), (0, None)))
    assert "all-gather" not in f.lower(divided, W.astype(np.float32)).compile().as_text()
    for found, right in zip(
        f(divided, W.astype(np.float32)),
        jax.vmap(jax.grad(loss(expected), (0, 1)), (0, None))(x, W.astype(np.float32)),
        strict=True,
    ):
        assert found.sharding.spec[:1] == ("i",)
        np.testing.assert_allclose(found, right, 1e-4, 1e-5)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("shape", "weight", "said"),
    [
        ((4, 5), (3,), "x and weight must have the same last dimension"),
        ((3, 5), (2, 5), "the weight has 2 rows, which do not divide the 3 rows of x"),
        ((), (), "x and weight must have the same last dimension"),
    ],
)
def test_operands_that_do_not_fit_are_refused(shape, weight, said):
    with pytest.raises(RuntimeError, match=said):
        rms_norm(jnp.ones(shape), jnp.ones(weight))
    with pytest.raises(RuntimeError, match="works on float32 and float64"):
        rms_norm(jnp.ones((4, 5), np.float16), jnp.ones(5, np.float16))
    np.testing.assert_allclose(rms_norm(jnp.ones((2, 5)), jnp.ones(5)), np.ones((2, 5)), 1e-5)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no compiler for CUDA is installed")
def test_the_source_for_gpus(tmp_path):
    if jax.default_backend() == "gpu":
        register(build("rms_norm.cu", tmp_path), "cuda")
        x, w = jnp.asarray(A, np.float32), jnp.asarray(W, np.float32)
        for f in (lambda norm: norm, lambda norm: jax.grad(loss(norm), (0, 1))):
            found, right = (jax.tree.leaves(f(norm)(x, w)) for norm in (rms_norm, expected))
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-4, 1e-5), found, right)
        return
    command = ["nvcc", "-ptx", "-std=c++17", "-w", f"-I{jax.ffi.include_dir()}"]
    kernels = tmp_path / "rms_norm.ptx"
    subprocess.run([*command, "-o", str(kernels), str(HERE / "rms_norm.cu")], check=True)
    assert kernels.read_text().count(".entry") == 3


@needs_compiler
@pytest.mark.usefixtures("eight_devices")
def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The names of its functions are taken by the example's.
    page = re.sub(r'"(rms_norm(?:_grad)?)"', r'"page_\1"', PAGE.read_text())
    names: dict[str, object] = {}
    count = 0
    for kind, file, block in re.findall(r"^```(\w+) ?(\S*)\n(.*?)^```$", page, re.M | re.S):
        if kind == "cpp":
            Path(file).write_text(block)
        elif kind == "python":
            exec(block, names)
        else:
            test = doctest.DocTestParser().get_doctest(block, names, PAGE.name, str(PAGE), 0)
            result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(
                test, clear_globs=False
            )
            assert result.failed == 0
            names, count = test.globs, count + result.attempted
    assert count > 20
