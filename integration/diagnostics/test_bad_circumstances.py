"""Bad installations, arrays that are too large, trees without end, forks: an error each.

Each runs in a process of its own, since without the error the process would end or wait forever.
"""

import os
import subprocess
import sys

import pytest

pytest.importorskip("ricci_xla", reason="needs the runtime")


def run(code: str, folder: object = None, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(folder or ""), os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
    )


BROKEN = "raise ImportError('libm.so.9: cannot open shared object file')"
# The module in the place of jaxlib: its version and its modules, and the words of the error.
INSTALLATIONS = {
    "too old": ("0.4.20", {}, "jaxlib 0.4.20 is too old", "pip install --upgrade"),
    "too new": ("0.99.0", {}, "jaxlib 0.99.0 is too new", "pip install --upgrade"),
    "broken": ("0.11.2", {"_jax": BROKEN}, "libm.so.9", "pip install --force-reinstall"),
    "without its parts": ("0.11.2", {}, "is broken", "pip install --force-reinstall"),
}


@pytest.mark.parametrize("name", INSTALLATIONS)
def test_broken_jaxlib_error_names_the_command_that_fixes_it(name, tmp_path):
    version, modules, *expected = INSTALLATIONS[name]
    folder = tmp_path / "jaxlib"
    folder.mkdir()
    (folder / "__init__.py").write_text("from .version import __version__\n")
    (folder / "version.py").write_text(f"__version__ = {version!r}\n")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    said = run("import ricci", tmp_path).stderr.splitlines()[-1]
    assert said.startswith("ImportError: ")
    for text in expected:
        assert text in said


MEND_JAXLIB = 'run: pip install --force-reinstall "jaxlib'
MEND_NUMPY = 'run: pip install --force-reinstall "numpy'
# A package whose `__init__` is this text: what must be said.
INITS = {
    "jaxlib without anything": ("jaxlib", "", "jaxlib is broken", MEND_JAXLIB),
    "jaxlib that is no Python": ("jaxlib", "def (", "invalid syntax", MEND_JAXLIB),
    "jaxlib that raises": ("jaxlib", "raise RuntimeError('boom')", "broken (boom)", MEND_JAXLIB),
    "jaxlib that raises long": ("jaxlib", "raise ValueError('a\\nb')", "(a)", MEND_JAXLIB),
    "NumPy that raises": ("numpy", "raise ImportError('libblas')", "NumPy is broken", MEND_NUMPY),
    "NumPy that is old": ("numpy", "__version__ = '1.20'", "NumPy 1.20 is too old", MEND_NUMPY),
}


@pytest.mark.parametrize("name", INITS)
def test_error_names_the_package_that_cannot_be_imported(name, tmp_path):
    package, text, *expected = INITS[name]
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(text)
    said = run("import ricci", tmp_path).stderr.splitlines()[-1]
    assert said.startswith("ImportError: ")
    for text in expected:
        assert text in said


def test_a_folder_named_jaxlib_hides_nothing(tmp_path):
    (tmp_path / "jaxlib").mkdir()
    assert run("import ricci; print(ricci.numpy.ones(1))", tmp_path).stdout == "[1.]\n"


def test_missing_jaxlib_error_names_the_command_that_installs_it():
    said = run("import sys; sys.modules['jaxlib'] = None; import ricci").stderr.splitlines()[-1]
    assert said.startswith("ImportError: jaxlib, the runtime, is not installed; run: pip install")


LARGE = """
import ricci as jax, ricci.numpy as jnp, numpy as np
from jaxlib._jax import JaxRuntimeError
def refused(kind, word, call):
    try:
        call()
    except kind as error:
        assert word in str(error), error
        assert "MLIR" not in str(error) and "StableHLO" not in str(error), error
    else:
        raise AssertionError(word)
for n in (2**63, 2**64 - 1):
    for call in (jnp.zeros, jnp.ones, jnp.empty, jnp.arange, lambda n: jnp.full(n, 1.0),
                 lambda n: jnp.zeros_like(jnp.ones(2), shape=n), lambda n: jax.lax.full((n,), 1.0),
                 lambda n: jax.lax.iota(np.float32, n), lambda n: jnp.tile(jnp.ones(2), n),
                 lambda n: jnp.broadcast_to(jnp.ones(1), (n,)),
                 lambda n: jnp.pad(jnp.ones(2), n // 2),
                 lambda n: jax.random.normal(jax.random.key(0), (n,)),
                 lambda n: jax.jit(lambda x: jnp.zeros(n) + x)(1.0),
                 lambda n: jax.jit(lambda x: (jnp.zeros(n) + x).sum())(1.0)):
        refused(ValueError, "more elements than can be counted", lambda: call(n))
for call in (lambda: jnp.eye(2**32), lambda: jnp.ones((2**32, 2**32))):
    refused(ValueError, "more elements than can be counted", call)
for call in (lambda: jnp.zeros(2**46), lambda: jnp.arange(2**46), lambda: jnp.eye(2**23),
             lambda: jnp.identity(2**23), lambda: jnp.tri(2**23),
             lambda: jax.lax.iota(np.int8, 2**46), lambda: jnp.linspace(0, 1, 2**46),
             lambda: jax.random.split(jax.random.key(0), 2**46),
             lambda: jax.jit(lambda x: jnp.zeros(2**46) + x)(1.0)):
    refused(JaxRuntimeError, "RESOURCE_EXHAUSTED", call)
assert jax.eval_shape(lambda: jnp.zeros(2**63)).shape == (2**63,)
print("end")
"""


def test_arrays_that_are_too_large_are_refused():
    done = run(LARGE)
    assert done.stdout == "end\n", done.stderr[-2000:]


ENDLESS = """
import functools
import ricci as jax, ricci.numpy as jnp
endless = []
endless.append(endless)
table = {}
table["a"] = (1, table)
deep = functools.reduce(lambda inner, _: [inner], range(100_000), 1)
for tree in (endless, table, deep):
    for call in (jax.tree.leaves, jax.tree.flatten, jax.tree.structure, jax.tree.all,
                 lambda t: jax.tree.map(lambda x: x, t), jax.tree.leaves_with_path,
                 lambda t: jax.tree.broadcast(1, t),
                 lambda t: jax.tree.reduce(max, t), jax.jit(lambda x: 1), jax.grad(lambda x: 1.0),
                 jax.vmap(lambda x: x), jax.device_put, jax.device_get, jax.block_until_ready,
                 lambda t: jax.eval_shape(lambda x: x, t), jax.make_jaxpr(lambda x: 1),
                 lambda t: jax.jit(lambda: t)(), lambda t: jax.jvp(lambda x: x, (t,), (t,))):
        try:
            call(tree)
        except RecursionError as error:
            assert "contains itself" in str(error), error
        else:
            raise AssertionError(call)
print("end")
import os
os._exit(0)  # the deep tree cannot even be freed by some versions of Python
"""


def test_trees_without_end_are_refused():
    done = run(ENDLESS.replace('print("end")', 'print("end", flush=True)'))
    assert done.stdout == "end\n", done.stderr[-2000:]


FORK = """
import os, signal
import numpy as np
import ricci as jax, ricci.numpy as jnp
f = jax.jit(lambda x: x * 2)
{before}
child = os.fork()
if child == 0:
    signal.alarm(60)
    {inside}
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
x = jnp.arange(3.0)
assert float(f(x)[1]) == 2.0  # the parent goes on
print("end")
"""
USED = """
x = jnp.arange(3.0)
y, g = f(x), jax.grad(lambda x: (x ** 2).sum())(x)
z = x + 1, x[0], jnp.ones(3), jax.device_put(np.ones(2))
"""
ALL_REFUSED = """
    for call in calls:
        try:
            call()
        except RuntimeError as error:
            assert "forked" in str(error), error
        else:
            os._exit(1)
"""
REFUSED = f"""
    calls = (lambda: f(x), lambda: x + 1, lambda: x[0], lambda: jnp.ones(3), lambda: f(np.ones(3)),
             lambda: jnp.asarray(np.ones(4)), lambda: jax.grad(lambda x: (x ** 2).sum())(x),
             lambda: jax.device_put(np.ones(2)), lambda: jax.jit(lambda x: x - 1)(x), jax.devices,
             lambda: jax.vmap(jnp.sin)(x), lambda: jax.random.key(0), lambda: f.lower(x).compile())
{ALL_REFUSED}    assert np.asarray(x).tolist() == [0.0, 1.0, 2.0]  # what is in memory can be read
"""


def test_after_a_fork_the_child_gets_an_error():
    done = run(FORK.format(before=USED, inside=REFUSED))
    assert done.stdout == "end\n", done.stderr[-2000:]


WAITING = """
sorting = jax.jit(jnp.sort)
x = jnp.arange(3.0)
y = sorting(jnp.ones(30_000_000))
"""
WAITED_FOR = f"""
    # `np.asarray(y)` takes the buffer from jaxlib itself, which waits.
    calls = (lambda: jax.block_until_ready(y), lambda: print(y), lambda: y.tolist())
{ALL_REFUSED}"""


def test_forked_child_does_not_wait_for_unfinished_arrays():
    done = run(FORK.format(before=WAITING, inside=WAITED_FOR))
    assert done.stdout == "end\n", done.stderr[-2000:]


def test_a_child_may_be_the_first_to_use_devices():
    inside = "assert float(f(jnp.arange(3.0))[1]) == 2.0"
    done = run(FORK.format(before="", inside=inside))
    assert done.stdout == "end\n", done.stderr[-2000:]
