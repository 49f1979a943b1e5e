"""Modules are imported when one of their names is used; the names are there from the beginning."""

import subprocess
import sys

import pytest


def run(program: str) -> str:
    """The output of a program in another process."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_no_module_that_a_first_gradient_does_not_need():
    loaded = run(
        "import sys, ricci; print(*(m for m in sys.modules if m.startswith('ricci')))"
    ).split()
    assert len(loaded) < 320
    late = (
        "ricci_lax.linalg._svd ricci_lax.control_flow._scan ricci_numpy.sorting._sets ricci_random"
    )
    assert not {*loaded} & {*late.split(), "ricci_parallel.manual._shard_map"}


@pytest.mark.parametrize(
    "uses",
    [
        [
            "import ricci",
            "assert ricci.jacrev is ricci.jacobian and 'jacrev' in dir(ricci)",
            "assert ricci.remat is ricci.checkpoint",
            "import ricci.custom_derivatives as derivatives",
            "assert derivatives.custom_gradient is ricci.custom_gradient",
            "import pickle",
            "assert pickle.loads(pickle.dumps(ricci.lax.scan)) is ricci.lax.scan",
        ],
        [
            "import ricci_ir, ricci",
            "assert ricci_ir.dtype_named('key<fry>') == ricci.random.key(0).dtype",
            "from ricci import *",
            "assert jit and grad and shard_map and custom_vjp",
        ],
        [
            "import ricci.numpy as jnp",
            "assert {'sort', 'linalg'} <= {*dir(jnp)} and 'sort' in jnp.__all__",
            "assert jnp.array([3, 1]).sort().tolist() == [1, 3]",
            "assert jnp.arange(3).at[0].set(5)[0] == 5",
            "from ricci.lax import linalg",
            "assert 'svd' in dir(linalg) and linalg.svd",
        ],
        [
            "import ricci_nn.initializers, ricci",  # of another name than the namespace
            "assert ricci.nn.initializers.__name__ == 'ricci.nn.initializers'",
        ],
        ["from ricci.numpy import *", "assert sort(array([2, 1])).tolist() == [1, 2]"],
        [
            "import ricci_ir, ricci_lax",
            "assert 'scatter-add' in ricci_ir.primitives",
            "assert ricci_ir.primitives['svd'].name == 'svd'",
        ],
    ],
)
def test_a_name_is_there_before_its_module_is_imported(uses):
    run("; ".join(uses))


def test_a_function_is_named_by_the_namespace_that_lists_it_first():
    program = (
        "import ricci, ricci.custom_derivatives as derivatives\n"
        "print(derivatives.closure_convert.__module__, ricci.closure_convert.__module__)\n"
    )
    assert run(program) == "ricci ricci"


def test_threads_that_use_a_name_first_at_the_same_time_get_one_function():
    program = (
        "import ricci.numpy as jnp\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    values = list(pool.map(lambda _: (jnp.median, jnp.linalg.svd), range(64)))\n"
        "assert len(set(values)) == 1\n"
    )
    run(program)


def test_a_primitive_with_the_name_of_one_that_is_not_loaded_is_refused():
    program = (
        "import ricci, ricci_ir as ir\n"
        "kinds = 'jvp', 'transpose', 'batch', 'lower', 'sharding'\n"
        "rules = {kind: ir.unsupported('no') for kind in kinds}\n"
        "try:\n"
        "    ir.define('svd', abstract_eval=lambda x: x, **rules)\n"
        "except ValueError as error:\n"
        "    print('defined already' in str(error))\n"
    )
    assert run(program) == "True"


def test_a_class_is_named_by_its_namespace_before_that_loads_it():
    program = (
        "import sys, ricci\n"
        "from importlib import import_module\n"
        "roots = 'ricci_lax', 'ricci_lax.linalg', 'ricci_numpy', 'ricci_parallel', 'ricci_random'\n"
        "for root in roots:\n"
        "    for module, names in import_module(f'{root}._index').MODULES.items():\n"
        "        for name in names.split() if module != root else ():\n"
        "            value = getattr(import_module(module), name)\n"
        "            if isinstance(value, type) and '._' in value.__module__:\n"
        "                print(module, name)\n"
    )
    assert run(program) == ""


def test_the_import_of_a_name_fails_by_the_error_of_its_module():
    program = (
        "import sys, types, ricci\n"
        "sys.modules['ricci_parallel.planning'] = types.ModuleType('ricci_parallel.planning')\n"
        "try:\n"
        "    ricci.fit_memory\n"
        "except AttributeError as error:\n"
        "    print(error)\n"
    )
    assert run(program) == "module 'ricci_parallel.planning' has no attribute 'fit_memory'"
