"""The hooks by which a package calls the ones above it, and the table of them in the docs."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ricci.random  # noqa: F401 (it provides functions)
from ricci_ir import Hook

DOCS = Path(__file__).parents[2] / "docs/architecture.md"
ROW = re.compile(r"^\| `(\w+)` \| `(ricci_[\w.]+)` \| `(ricci[_.][\w.]+)` \|", re.MULTILINE)
ROWS = ROW.findall(DOCS.read_text())


def test_the_docs_list_all_hooks():
    for _, declares, provides in ROWS:
        import_module(declares)
        import_module(provides)
    modules = [m for name, m in sys.modules.items() if name.startswith("ricci_")]
    hooks = {id(v): v for m in modules for v in vars(m).values() if isinstance(v, Hook)}
    listed = [id(getattr(import_module(declares), name)) for name, declares, _ in ROWS]
    assert sorted(hooks) == sorted(listed)


@pytest.mark.parametrize(("name", "declares", "provides"), ROWS)
def test_each_hook_is_provided_by_the_module_in_the_docs(name, declares, provides):
    import_module(provides)
    hook = getattr(import_module(declares), name)
    assert hook.provider == provides
    assert hook.provided_by == provides.partition(".")[0]


@pytest.mark.parametrize(
    ("module", "call", "needed"),
    [
        ("ricci_ir", "m.symbolic_shape('a')[0].__jax_array__()", "ricci_lax"),
        ("ricci_ir", "m.ShapedArray((2,), 'float32', sharding='x')", "ricci_xla"),
        ("ricci_autodiff", "m.instantiate(m.Zero(ir.ShapedArray((2,), 'float32')))", "ricci_lax"),
        ("ricci_batching", "m.move_dim(numpy.ones((2, 3)), 0, 1)", "ricci_lax"),
        ("ricci_lax", "m.full((2,), 1.0, sharding='x')", "ricci_xla"),
        ("ricci_lax.authoring", "m.with_out_sharding(1.0, 'x')", "ricci_parallel"),
    ],
)
def test_a_package_alone_says_which_one_to_import(module, call, needed):
    program = (
        f"import numpy, ricci_ir as ir, {module} as m\n"
        f"try:\n    {call}\nexcept NotImplementedError as error:\n    print(error)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.stdout.endswith(f" is imported: import {needed}\n"), result.stderr
