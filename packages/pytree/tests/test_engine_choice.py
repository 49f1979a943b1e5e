"""Tests in new processes: the choice of engine, pickling, and the examples in the docs."""

import os
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def _run(code: str, env: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *args], env=env, capture_output=True, text=True, check=False
    )


def test_environment_variable_chooses(engine, engine_env):
    code = "import sys, ricci_pytree as p; print(p.engine_name, 'jaxlib' in sys.modules)"
    done = _run(code, engine_env)
    assert done.stdout.split() == [engine, str(engine == "cpp")], done.stderr


def test_unknown_engine():
    done = _run("import ricci_pytree", {**os.environ, "RICCI_PYTREE_ENGINE": "rust"})
    assert done.returncode != 0
    assert "RICCI_PYTREE_ENGINE must be 'cpp' or 'python', found 'rust'" in done.stderr


def test_python_engine_where_jaxlib_is_missing():
    env = {k: v for k, v in os.environ.items() if k != "RICCI_PYTREE_ENGINE"}
    code = (
        "import sys; sys.modules['jaxlib'] = None; "
        "import ricci_pytree as p; print(p.engine_name, p.tree_leaves([1, {'a': 2}]))"
    )
    assert _run(code, env).stdout == "python [1, 2]\n"


PICKLE = """
import collections, copy, pickle
import ricci_pytree as p
Point = collections.namedtuple("Point", "a b")
tree = {"a": (1, [None, Point(2, 3)]), "b": collections.OrderedDict(z=1)}
for registry in (p.default_registry, p.none_leaf_registry):
    treedef = registry.flatten(tree)[1]
    for other in (pickle.loads(pickle.dumps(treedef)), copy.deepcopy(treedef)):
        assert other == treedef and hash(other) == hash(treedef), other
        assert repr(other) == repr(treedef)
    assert pickle.loads(pickle.dumps(registry)) is registry
for key in (p.DictKey("a"), p.SequenceKey(1), p.GetAttrKey("x"), p.FlattenedIndexKey(2)):
    assert pickle.loads(pickle.dumps(key)) == key
partial = pickle.loads(pickle.dumps(p.Partial(p.Partial(max, 1), 2)))
assert partial(0) == 2 and p.tree_leaves(partial) == [2]
"""


def test_pickle_and_deepcopy(engine_env):
    done = _run(PICKLE, engine_env)
    assert done.returncode == 0, done.stderr


DOCTEST = """
import doctest, importlib, importlib.util, pkgutil, sys
import ricci_pytree
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# The examples of docstrings are written with the full install.
full = importlib.util.find_spec("ricci") is not None
modules = pkgutil.iter_modules(ricci_pytree.__path__) if full else []
names = [m.name for m in modules if m.name != "_cpp_engine"]
results = [doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags)]
runner = doctest.DocTestRunner(optionflags=flags)
for name in names:
    for test in doctest.DocTestFinder().find(importlib.import_module(f"ricci_pytree.{name}")):
        # The runtime takes trees of jaxlib's engine.
        computes = "ricci.jit" in test.docstring or "ricci.numpy" in test.docstring
        if ricci_pytree.engine_name == "cpp" or not computes:
            results.append(runner.run(test))
assert results[0].attempted and (not full or sum(r.attempted for r in results) > 60)
sys.exit(sum(r.failed for r in results))
"""


def test_examples(engine_env):
    done = _run(DOCTEST, engine_env, str(README))
    assert done.returncode == 0, done.stdout + done.stderr


def test_all_is_true(pt):
    for module in (pt, pt.tree):
        public = {n for n in vars(module) if not n.startswith("_")}
        assert set(module.__all__) <= public
        assert len(module.__all__) == len(set(module.__all__))
    undocumented = [n for n in pt.__all__ if callable(v := getattr(pt, n)) and not v.__doc__]
    in_jaxlib = {
        "DictKey",
        "FlattenedIndexKey",
        "GetAttrKey",
        "PyTreeDef",
        "PyTreeRegistry",
        "SequenceKey",
    }
    assert set(undocumented) <= in_jaxlib
