"""Every tool on every kind of callable and of argument, in the settings that programs have."""

import functools
import inspect
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

import ricci
import ricci.numpy as jnp
from ricci import parallel

X = jnp.array([[1.0, 2.0], [3.0, 4.0], [0.5, 0.25]])


def logarithms(x, weights, scale=2.0):
    return jnp.log(x) @ weights * scale  # cause


W = jnp.ones((2, 2))


class Model:
    def __init__(self):
        self.weights = W

    def method(self, x):
        return logarithms(x, self.weights)

    @functools.partial(ricci.jit, static_argnums=0)
    def jitted(self, x):
        return logarithms(x, self.weights)

    @classmethod
    def of_class(cls, x):
        return logarithms(x, W)

    @staticmethod
    def static(x):
        return logarithms(x, W)

    def __call__(self, x, *, scale=2.0):
        return logarithms(x, self.weights, scale)


class Layer:
    """A layer whose class jits its call."""

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return type(other) is Layer

    @functools.partial(ricci.jit, static_argnums=0)
    def __call__(self, x):
        return logarithms(x, W)


def with_mode(x, mode, weights=W):
    return logarithms(x, weights) if mode == "log" else x


def decorated(f):
    @functools.wraps(f)
    def run(*args, **kwargs):
        return f(*args, **kwargs)

    return run


def with_key(x, key):
    return logarithms(x, W) + 0 * ricci.random.normal(key, (2,))


def with_none(x, mask, n):
    return logarithms(x, W) * n if mask is None else x


def with_tree(x, batch):
    return logarithms(x, batch["w"]) if batch["flag"] is None else x


def with_generator(x, numbers):
    return logarithms(x, W) * sum(numbers)


@ricci.custom_vjp
def customized(x):
    return logarithms(x, W)


customized.defvjp(lambda x: (customized(x), x), lambda x, g: (g @ W.T / x,))

partial = functools.partial
# The callable, and its arguments after the array.
CALLABLES = {
    "a function": lambda: (logarithms, (W,), {}),
    "keywords": lambda: (logarithms, (), {"weights": W, "scale": 2.0}),
    "a lambda": lambda: (lambda x, w=W: logarithms(x, w), (), {}),
    "a bound method": lambda: (Model().method, (), {}),
    "a class method": lambda: (Model.of_class, (), {}),
    "a static method": lambda: (Model.static, (), {}),
    "an object": lambda: (Model(), (), {"scale": 2.0}),
    "a partial": lambda: (partial(logarithms, weights=W), (), {}),
    "a partial of a jitted function": lambda: (partial(ricci.jit(logarithms), weights=W), (), {}),
    "a jitted partial": lambda: (ricci.jit(partial(logarithms, weights=W)), (), {}),
    "a jitted function": lambda: (ricci.jit(logarithms), (W,), {}),
    "a jitted method": lambda: (Model().jitted, (), {}),
    "an object whose call is jitted": lambda: (Layer(), (), {}),
    "static_argnames": lambda: (ricci.jit(with_mode, static_argnames="mode"), ("log",), {}),
    "static_argnames by name": lambda: (
        ricci.jit(with_mode, static_argnames=("mode",)),
        (),
        {"mode": "log"},
    ),
    "donate_argnums": lambda: (ricci.jit(logarithms, donate_argnums=0), (W,), {}),
    "static and donated": lambda: (
        ricci.jit(with_mode, static_argnums=1, donate_argnums=(0,)),
        ("log",),
        {},
    ),
    "wraps": lambda: (decorated(ricci.jit(logarithms)), (W,), {}),
    "vmap": lambda: (ricci.vmap(logarithms, (0, None)), (W,), {}),
    "jit of vmap": lambda: (ricci.jit(ricci.vmap(lambda x: logarithms(x, W))), (), {}),
    "value_and_grad": lambda: (ricci.value_and_grad(lambda x: logarithms(x, W).sum()), (), {}),
    "checkpoint": lambda: (ricci.checkpoint(logarithms), (W,), {}),
    "custom_vjp": lambda: (customized, (), {}),
    "a typed key": lambda: (with_key, (ricci.random.key(0),), {}),
    "a jitted function of a typed key": lambda: (ricci.jit(with_key), (ricci.random.key(0),), {}),
    "None and a number": lambda: (with_none, (None, 1), {}),
    "None and a number, jitted": lambda: (ricci.jit(with_none), (None, 1.0), {}),
    "a tree": lambda: (with_tree, ({"w": W, "flag": None},), {}),
    "a generator": lambda: (with_generator, ((i for i in range(3)),), {}),
}
# Those that are tried in every setting.
FEW = (
    "a bound method",
    "a partial of a jitted function",
    "an object whose call is jitted",
    "static and donated",
    "a jitted function of a typed key",
    "value_and_grad",
)


class Case:
    """A callable, and new arguments of it for each call."""

    def __init__(self, kind):
        self.kind = kind
        self.f = CALLABLES[kind]()[0]

    def rest(self):
        """Return the arguments after the array."""
        return CALLABLES[self.kind]()[1:]

    def call(self, tool, x=X):
        """Call a tool's function, or the function itself."""
        args, kwargs = self.rest()
        return tool(x.copy(), *args, **kwargs)


def line_of_cause():
    lines, start = inspect.getsourcelines(logarithms)
    return next(start + i for i, line in enumerate(lines) if "# cause" in line)


def find_nan(case, folder):
    assert case.call(ricci.find_nan(case.f)) is None
    found = case.call(ricci.find_nan(case.f), -X)
    assert found is not None
    made = found.forward or found.cause or found
    assert (made.operation, made.source.line) == ("log", line_of_cause()), found


def debug_nans(case, folder):
    with ricci.debug_nans(True):
        case.call(case.f)
        with pytest.raises(FloatingPointError, match="log") as error:
            case.call(case.f, -X)
    assert f"test_tool_callables.py:{line_of_cause()}" in str(error.value)


def check(case, folder):
    findings = case.call(ricci.check(case.f))
    assert not any(finding.code == "RC001" for finding in findings), findings


def memory_plan(case, folder):
    assert case.call(ricci.memory_plan(case.f)).peak_bytes > 0


def precision(case, folder):
    report = case.call(ricci.precision(case.f))
    assert any(line.source.line == line_of_cause() for line in report.lines), report


def plan(case, folder):
    assert case.call(parallel.plan(case.f)).devices == 1


def communication(case, folder):
    assert len(case.call(parallel.communication(case.f))) == 0


def assert_equal(case, rewritten):
    for _ in range(2):
        leaves = ricci.tree.leaves(case.call(rewritten))
        for one, two in zip(ricci.tree.leaves(case.call(case.f)), leaves, strict=True):
            assert jnp.allclose(one, two) and one.dtype == two.dtype


def roll(case, folder):
    assert_equal(case, ricci.roll(case.f))


def fit_memory(case, folder):
    assert_equal(case, ricci.fit_memory(case.f, "1GB"))


def bucketed(case, folder):
    axis = (0, *(None for _ in case.rest()[0]))
    assert_equal(case, ricci.bucketed(case.f, axis=axis, sizes=[4]))


def warm_start(case, folder):
    jitted = case.f if hasattr(case.f, "lower") else ricci.jit(lambda x: case.call(case.f, x))
    function = case.f if jitted is case.f else jitted
    call = case.call if jitted is case.f else lambda function: function(X.copy())
    expected = ricci.tree.leaves(call(function))
    outcomes = []
    for _ in range(2):
        ricci.clear_caches()
        with ricci.warm_start(folder / f"bundle{threading.get_ident()}") as start:
            leaves = ricci.tree.leaves(call(function))
        outcomes.append({each.outcome for each in start.calls})
        assert all(map(jnp.allclose, expected, leaves)), start
    assert outcomes[1] == {"warm"}, start


TOOLS = [
    *(find_nan, debug_nans, check, memory_plan, precision, plan, communication),
    *(roll, fit_memory, bucketed, warm_start),
]


@contextmanager
def after_a_call(case):
    """The function was called before, and its executables are dropped."""
    case.call(case.f)
    yield
    ricci.clear_caches()


SETTINGS = {
    "after a call": after_a_call,
    "64-bit types": lambda case: ricci.enable_x64(True),
    "checks": lambda case: ricci.enable_checks(True),
}
of_tools = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("kind", CALLABLES)
@pytest.mark.filterwarnings("ignore:Python iterable type:DeprecationWarning")
@of_tools
def test_tools_take_any_callable_twice(tool, kind, tmp_path):
    case = Case(kind)
    for _ in range(2):
        tool(case, tmp_path)


@pytest.mark.sampled(20)
@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("setting", SETTINGS)
@of_tools
def test_tools_hold_in_any_setting(tool, setting, kind, tmp_path):
    case = Case(kind)
    for _ in range(2):
        with SETTINGS[setting](case):
            tool(case, tmp_path)


# A warm start is one for all threads.
@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("tool", TOOLS[:-1], ids=lambda tool: tool.__name__)
def test_tools_run_in_two_threads(tool, kind, tmp_path):
    case = Case(kind)
    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(tool, case, tmp_path) for _ in range(2)]:
            done.result()
