"""Guards of transfers: which operations copy, and which copies the user asked for."""

import ast
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import ricci
import ricci.numpy as jnp
from ricci import config, device_get, device_put, jit, transfer_guard_host_to_device
from ricci_xla import JaxRuntimeError

GUARDS = ("host_to_device", "device_to_device", "device_to_host")
LEVELS = ("allow", "disallow", "disallow_explicit")

# Run with each library under the names jax, jnp and np.
SETUP = """
d0, d1 = jax.devices()[:2]
x = jnp.arange(4.0) + 0
k = jnp.arange(4) * 2
n = np.arange(4.0, dtype='float32')
f = jax.jit(lambda x: x + 1)
f(x), f(x), f(n), f(n), f(1.0), f(1.0)
P = jax.sharding.PartitionSpec
mesh = jax.sharding.Mesh(np.array([d0, d1]), ('x',))
S = jax.sharding.NamedSharding(mesh, P('x'))
R = jax.sharding.NamedSharding(mesh, P())
fs = jax.jit(lambda x: x * 2, in_shardings=S)
xs = jax.device_put(n, S)
fs(xs)
key = jax.random.key(0)
yes = jnp.asarray(True)
y = jax.device_put(x, d1)
mask = y > 1
summed = jnp.frompyfunc(lambda a, b: a + 2 * b, 2, 1, identity=0)
"""

ACTIONS = """
jnp.array(n)
jnp.asarray([1.0, 2.0])
jnp.asarray(1.0)
jnp.ones(4)
jnp.arange(5)
jnp.full((3,), 2.0)
jnp.empty(3)
jnp.empty((), int)
jnp.empty_like(x)
jnp.diag_indices(3)
jnp.diag_indices_from(x.reshape(2, 2))
jnp.linspace(0, 1, 5)
x + 1
x + x
x + n
x * 2.5
x[1]
x[1:3]
x[np.array([0, 1])]
x.at[0].set(3.0)
jnp.sin(x)
jnp.sin(n)
f(x)
f(n)
f(1.0)
jax.jit(lambda x: x + 2)(n)
jax.jit(lambda x: x + 2)(x)
jax.jit(lambda x: x + n)(x)
jax.jit(lambda x: x.sum() + (x[0] * np.ones(9999, 'float32')).sum())(x)
jax.jit(lambda x: x.sum() + jnp.asarray(np.ones(9999, 'float32')).sum())(x)
fs(n)
fs(x)
fs(xs)
jax.device_put(n)
jax.device_put(n, d1)
jax.device_put(n, S)
jax.device_put(1.0)
jax.device_put(x)
jax.device_put(x, d0)
jax.device_put(x, d1)
jax.device_put(x, S)
jax.device_put(xs, d0)
jax.device_put(xs, R)
jax.device_get(f(x))
np.asarray(f(x))
np.asarray(fs(xs))
x.sum().item()
f(x).tolist()
repr(f(x))
f(x).block_until_ready()
x.copy()
list(x)
jax.random.key(0)
jax.random.split(key)
jax.random.normal(key, (3,))
jax.grad(lambda x: (x * x).sum())(x)
jax.vmap(lambda x: x * 2)(x)
jax.lax.scan(lambda c, a: (c + a, a), 0.0, x)
jax.jit(lambda a: jax.debug.callback(lambda v: None, a))(x)
jax.make_array_from_callback((4,), S, lambda i: n[i])
jax.make_array_from_process_local_data(S, n)
jax.make_array_from_single_device_arrays((4,), jax.sharding.SingleDeviceSharding(d0), [x])
x > 0
jnp.dot(x, x)
jax.device_get(xs)
np.asarray(xs)
jax.device_get([xs, x])
x.mean()
x.reshape(2, 2)
jnp.stack([n, n])
jax.pmap(lambda x: x + 1)(np.ones((2, 3), 'float32'))
jnp.unwrap(x)
jnp.intersect1d(k, k + 2, size=2)
jnp.setxor1d(k, k + 2, size=2)
jnp.setdiff1d(k, k + 2, size=2)
jnp.polyfit(x, x, 1)
jnp.unwrap(x, period=5.0)
jnp.equal(x, k)
jnp.less(k, x)
jnp.equal(x + 0j, k)
jnp.logaddexp.reduce(x)
jnp.average(x, returned=True)
jnp.pad(x, 2, 'linear_ramp')
jnp.pad(x, 2, 'linear_ramp', end_values=(1, 2.5))
x[::2]
x.reshape(2, 2)[1, ::2]
x.at[1::2].get()
jnp.negative.at(x, k, inplace=False)
summed(x, x)
summed.reduce(x)
jnp.nonzero(x > 9)
jnp.intersect1d(k, k, size=6, fill_value=3)
jnp.isfinite(1)
jnp.linspace(0, 1, 0)
jnp.from_dlpack(k, copy=True)
jax.lax.cond(yes, lambda a: a * 2, lambda a: a, x)
jax.scipy.linalg.hilbert(3)
jax.scipy.stats.rankdata(x)
jnp.nonzero(mask)
jnp.extract(mask, y)
jnp.intersect1d(y, y)
jnp.sort(y)
""".strip().splitlines()

if os.environ.get("RICCI_SAMPLE"):
    ACTIONS = ACTIONS[::2]

# For an action, the outcomes by guard and level that differ: Ricci's, then JAX's. The shards of a
# result on CPUs are in the host's memory, and reading them is not a transfer.
DIFFERENCES = {
    ("np.asarray(fs(xs))", "device_to_host", "disallow"): ("ok", "JaxRuntimeError"),
    ("np.asarray(fs(xs))", "device_to_host", "disallow_explicit"): ("ok", "JaxRuntimeError"),
}

_RUN = """
import json
names = {"jax": jax, "jnp": jnp, "np": np}
exec(SETUP, names)

def outcome(action, guard, level):
    try:
        with getattr(jax, f"transfer_guard_{guard}")(level):
            eval(action, names)
    except Exception as error:
        return type(error).__name__
    return "ok"

for action in ACTIONS:
    eval(action, names)
print(json.dumps([[outcome(a, g, l) for g in GUARDS for l in LEVELS] for a in ACTIONS]))
"""


def outcomes(python: str, module: str, path: str) -> list[list[str]]:
    """The outcome of each action under each guard and level, in another process."""
    code = (
        f"import {module} as jax, {module}.numpy as jnp, numpy as np\n"
        f"import {module}.scipy.linalg, {module}.scipy.stats\n"
        f"SETUP, ACTIONS = {SETUP!r}, {ACTIONS!r}\nGUARDS, LEVELS = {GUARDS!r}, {LEVELS!r}\n{_RUN}"
    )
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JAX_", "RICCI_", "PYTHONPATH", "XLA_"))
    }
    env |= {"PYTHONPATH": path, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(
        [python, "-c", code], env={**env, "JAX_PLATFORMS": "cpu"}, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_actions_are_expressions():
    for action in ACTIONS:
        ast.parse(action, mode="eval")


@pytest.mark.skipif("RICCI_ORACLE_PYTHON" not in os.environ, reason="no oracle is made")
def test_guards_forbid_the_same_transfers_as_jax():
    ours = outcomes(sys.executable, "ricci", ":".join(sys.path))
    theirs = outcomes(os.environ["RICCI_ORACLE_PYTHON"], "jax", "")
    assert len(ours) == len(ACTIONS)
    places = [(guard, level) for guard in GUARDS for level in LEVELS]
    differ = {
        (action, *place): (mine, other)
        for action, our, their in zip(ACTIONS, ours, theirs, strict=True)
        for place, mine, other in zip(places, our, their, strict=True)
        if mine != other
    }
    assert differ == {key: pair for key, pair in DIFFERENCES.items() if key[0] in ACTIONS}


def test_devices_can_be_used_first_under_a_guard():
    """Creating the devices is not a transfer of the user's."""
    code = (
        "import ricci\nimport numpy as np\n"
        "with ricci.transfer_guard('disallow'):\n"
        "    x = ricci.device_put(np.ones(2))\n"
        "    print(ricci.jit(lambda x: x + x)(x).shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "(2,)\n", done.stderr


def test_an_implicit_copy_is_forbidden_and_the_process_goes_on():
    values = np.ones(3, np.float32)
    with transfer_guard_host_to_device("disallow"):
        with pytest.raises(JaxRuntimeError, match="Disallowed host-to-device transfer"):
            jnp.sin(values)
        on_device = device_put(values)
        assert jit(jnp.sin)(on_device).shape == (3,)
    assert jnp.sin(values).shape == (3,)


def test_an_explicit_copy_is_forbidden_only_by_its_level():
    with transfer_guard_host_to_device("disallow_explicit"):
        with pytest.raises(JaxRuntimeError, match="Disallowed host-to-device transfer"):
            device_put(np.ones(3))
    assert device_get(device_put(np.ones(3))).tolist() == [1, 1, 1]


def test_explicit_ends_with_the_call_even_if_it_fails():
    with transfer_guard_host_to_device("disallow"):
        with pytest.raises(TypeError):
            device_put("no array")
        with pytest.raises(JaxRuntimeError):
            jnp.sin(np.ones(3))


def test_a_guard_for_the_process_holds_in_all_threads(capfd):
    config.update("jax_transfer_guard", "log")
    try:
        jnp.sin(np.ones(7))
        assert "host-to-device transfer" in capfd.readouterr().err
        with ricci.transfer_guard("allow"):
            jnp.sin(np.ones(7))
        assert "transfer" not in capfd.readouterr().err
    finally:
        config.update("jax_transfer_guard", None)
    jnp.sin(np.ones(7))
    assert "transfer" not in capfd.readouterr().err


def test_logging_explicit_copies(capfd):
    with transfer_guard_host_to_device("log"):
        device_put(np.ones(5))
    assert "transfer" not in capfd.readouterr().err
    with transfer_guard_host_to_device("log_explicit"):
        device_put(np.ones(5))
    assert "host-to-device transfer" in capfd.readouterr().err


def test_operations_that_numpy_computes_first_are_compiled_instead():
    x = device_put(np.arange(11.0, dtype=np.float32))
    with transfer_guard_host_to_device("disallow"):
        assert (x + x).tolist() == list(range(0, 22, 2))


@pytest.mark.parametrize("impl", [None, "rbg", "unsafe_rbg"])
@pytest.mark.parametrize("function", [ricci.random.key, ricci.random.PRNGKey])
def test_keys_of_seeds_on_the_device_need_no_transfer(impl, function):
    seed = device_put(np.int32(7))
    with ricci.transfer_guard("disallow"):
        key = function(seed, impl=impl)
    words = key if function is ricci.random.PRNGKey else ricci.random.key_data(key)
    np.testing.assert_array_equal(words, ricci.random.PRNGKey(7, impl=impl))


VECTOR = jnp.asarray(np.float32([0.25, 0.5]))
# Functions with constants or default values, which their compiled steps hold.
CALLS = {
    **dict.fromkeys(("deg2rad", "gradient", "imag", "isinf", "log10", "logical_not"), (VECTOR,)),
    **dict.fromkeys(("nan_to_num", "nanstd", "nanvar", "polyint", "rad2deg"), (VECTOR,)),
    **dict.fromkeys(("allclose", "isclose", "logical_and", "logical_or"), (VECTOR, VECTOR)),
    **dict.fromkeys(("logical_xor", "nanpercentile", "percentile"), (VECTOR, VECTOR)),
    "isfinite": (jnp.asarray([1, 2]),),
    "trapezoid": (VECTOR,),
}


@pytest.mark.parametrize("name", CALLS)
def test_constants_of_functions_are_not_copied_by_each_call(name):
    function, args = getattr(jnp, name), CALLS[name]
    function(*args)
    with ricci.transfer_guard("disallow"):
        function(*args)
