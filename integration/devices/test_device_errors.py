"""Errors about devices are short, name the cause, and the process goes on.

The programs are those of `device_cases` that must be refused; of which class the errors are is
compared with the oracle by `test_device_programs.py`.
"""

import os
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("ricci_xla", reason="devices need the runtime")

from device_cases import cases, plain

import ricci
import ricci.numpy as jnp
from ricci import P, lax
from ricci_ir import ShardingTypeError
from ricci_testing import ricci_namespace

BAD = [replace(c, probes=("eager",)) for c in cases() if c.topic in ("bad_input", "bad_calls")]
MOST_LINES = 12
SAMPLED = bool(os.environ.get("RICCI_SAMPLE"))


def message(case) -> str:
    """The message of the error of a program; empty if there is none."""
    return plain(case.observed(ricci_namespace())).get("['eager']['message']", "")


@pytest.mark.filterwarnings("ignore:Some donated buffers")
@pytest.mark.parametrize("topic", ["bad_input", "bad_calls"])
def test_errors_are_short(eight_devices, topic):
    cases = [case for case in BAD if case.topic == topic and not case.says]
    found = {case.name: message(case) for case in cases[:: 2 if SAMPLED else 1]}
    assert sum(map(bool, found.values())) > (50 if SAMPLED else 100)
    assert [name for name, text in found.items() if len(text.splitlines()) > MOST_LINES] == []


@pytest.mark.parametrize("case", [c for c in BAD if c.says], ids=lambda case: case.name)
def test_device_errors_contain_the_listed_words(eight_devices, case):
    text = message(case)
    assert len(text.splitlines()) <= MOST_LINES
    assert [word for word in case.says if word not in text] == [], text


# A function, arguments that it must refuse, and some that it takes.

X, HALF = np.ones((8, 4), np.float32), np.ones((6, 4), np.float32)
CALLS = {
    "jit: sizes": (lambda m: ricci.jit(lambda a: a * 2, in_shardings=P("x")), (HALF,), (X,)),
    "jit: rank": (lambda m: ricci.jit(lambda a: a * 2, in_shardings=P(None, "x")), (X[0],), (X,)),
    "jit: devices": (
        lambda m: ricci.jit(lambda a, b: a + b),
        tuple(ricci.device_put(X, d) for d in ricci.devices()[:2]),
        (X, X),
    ),
    "shard_map: sizes": (
        lambda m: ricci.shard_map(lambda a: a * 2, in_specs=P("x"), out_specs=P("x")),
        (HALF,),
        (X,),
    ),
    "shard_map: rank": (
        lambda m: ricci.shard_map(lambda a: a * 2, in_specs=P(None, "y"), out_specs=P(None, "y")),
        (X[0],),
        (X,),
    ),
    "shard_map: varying": (
        lambda m: ricci.shard_map(
            lambda a: a * 2 if a.ndim == 2 else lax.psum(a, "x"), in_specs=P("x"), out_specs=P()
        ),
        (X,),
        (X[:, 0],),
    ),
    "shard_map: an axis that is not there": (
        lambda m: ricci.shard_map(
            lambda a: lax.psum(a, "x" if a.ndim == 2 else "q"), in_specs=P("x"), out_specs=P()
        ),
        (X[:, 0],),
        (X,),
    ),
    "pmap: sizes": (lambda m: ricci.pmap(lambda a, b: a + b), (X, HALF), (X, X)),
    "pmap: an axis that is not there": (
        lambda m: ricci.pmap(lambda a: lax.psum(a, "i" if a.ndim else "q"), "i"),
        (X[:, 0],),
        (X,),
    ),
    "eager: no axis": (
        lambda m: lambda a: lax.psum(a, "x") if a.ndim == 2 else a + 1,
        (X,),
        (X[0],),
    ),
    "reshard: sizes": (lambda m: lambda a: ricci.reshard(a, P(None, "x")), (X[:, :3],), (X,)),
    "a product": (lambda m: jnp.matmul, lambda: (divided("x", "y"), divided("x", "y").T), (X, X.T)),
}


def divided(*parts):
    return ricci.reshard(X, P(*parts))


EXPLICIT = ("reshard: sizes", "a product")


@pytest.mark.parametrize("name", CALLS)
def test_the_process_goes_on(eight_devices, name):
    make, bad, good = CALLS[name]
    kind = ricci.sharding.AxisType.Explicit if name in EXPLICIT else ricci.sharding.AxisType.Auto
    mesh = ricci.make_mesh((4, 2), ("x", "y"), axis_types=(kind,) * 2)
    with ricci.set_mesh(mesh if not name.startswith("pmap") else None):
        function = make(mesh)
        before = np.asarray(make(mesh)(*good))
        for _ in range(2):
            with pytest.raises((ValueError, NameError, ShardingTypeError)) as found:
                function(*(bad() if callable(bad) else bad))
            assert len(str(found.value).splitlines()) <= MOST_LINES
            np.testing.assert_array_equal(function(*good), before)
            np.testing.assert_array_equal(ricci.jit(function)(*good), before)
