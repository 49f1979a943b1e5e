"""The result of a call does not depend on earlier calls.

Programs are kept between calls, and a program that was kept for one use must not be taken for
another one. Each function is called in several ways: eagerly, compiled, inside of other
transformations with arguments that these do not trace, and transformed itself; with 64-bit types
off and on. Each way is tried with empty caches, then after the others, in one order and in the
reverse one; and in two threads at once, each with another width of types.

A run takes two ways of some functions; with RICCI_ORDER_CASES=all, as `nox -s orders-full` sets it,
all ways of every function at both widths.
"""

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("ricci_xla", reason="values need the compiler")
from numpy_cases.case import Call  # noqa: E402
from order_cases import calls, further_calls, large_calls  # noqa: E402

import ricci  # noqa: E402
import ricci.numpy as jnp  # noqa: E402
from ricci.experimental import rnn  # noqa: E402
from ricci_testing import ricci_namespace  # noqa: E402

LINE = ricci.NamedSharding(ricci.sharding.Mesh(ricci.devices(), "i"), ricci.P("i"))
EVERYTHING = os.environ.get("RICCI_ORDER_CASES") == "all"
TOGETHER = 10  # functions in one test
SAMPLE = 90
CALLS = [*calls(), *large_calls()]
# Functions whose programs were mixed up once are in every run.
ALWAYS = {"fft.fftfreq", "fft.rfftfreq", "packbits", "unwrap"}

type Results = list[tuple[object, ...]] | tuple[str, str]
type Way = Callable[[], object]


def chosen() -> list[Call]:
    """The calls of a run: all, or a sample."""
    if EVERYTHING:
        return CALLS
    always = [call for call in CALLS if call.function in ALWAYS or call.function.startswith("f32[")]
    others = [call for call in CALLS if call not in always]
    return always + random.Random(0).sample(others, SAMPLE - len(always))


def ways(call: Call) -> dict[str, Way]:
    """The ways to make a call, by name."""
    names = ", ".join(call.inputs)
    fun = eval(f"lambda {names}: {call.source}", {**ricci_namespace(), "rnn": rnn, "LINE": LINE})
    flat = lambda *xs: [x for x in ricci.tree.leaves(fun(*xs)) if hasattr(x, "aval")]
    xs = list(map(jnp.asarray, call.inputs.values()))
    found: dict[str, Way] = {
        "eager": lambda: flat(*xs),
        "in vmap": lambda: ricci.vmap(
            lambda s: (s, flat(*xs)), out_axes=(0, None)
        )(jnp.ones(2))[1],
        "in grad": lambda: ricci.value_and_grad(lambda s: (s, flat(*xs)), has_aux=True)(1.0)[0][1],
    }  # fmt: skip
    if set(call.probes) - {"eager"}:
        found["jit"] = lambda: ricci.jit(flat)(*xs)
        found["in jit"] = lambda: ricci.jit(lambda s: (s, flat(*xs)))(1.0)[1]
    if "vmap" in call.probes:
        axes = tuple(0 if name in call.mapped else None for name in call.inputs)
        batch = [jnp.stack([x, x]) if d == 0 else x for x, d in zip(xs, axes, strict=True)]
        found["vmap"] = lambda: ricci.vmap(flat, in_axes=axes)(*batch)
    if "jvp" in call.probes:
        places = [i for i, name in enumerate(call.inputs) if name in call.diff]
        primals = tuple(xs[i] for i in places)

        def smooth(*given):
            full = list(xs)
            for i, x in zip(places, given, strict=True):
                full[i] = x
            return [y for y in flat(*full) if jnp.issubdtype(y.dtype, jnp.inexact)]

        def pulled_back():
            ys, pullback = ricci.vjp(smooth, *primals)
            return pullback(ys)

        found["jvp"] = lambda: ricci.jvp(smooth, primals, primals)
        found["vjp"] = pulled_back
    return found


def outcome(way: Way, wide: bool) -> Results:
    """The types and values of the results, or the class of the error."""
    with ricci.enable_x64(wide):
        try:
            results = ricci.tree.leaves(way())
        except Exception as error:  # noqa: BLE001 (whatever it is must be the same each time)
            return "raised", type(error).__name__
        return [
            (x.shape, str(x.dtype), getattr(x, "weak_type", False), np.asarray(x).tobytes())
            for x in map(_words, results)
        ]


def _words(x):
    is_key = jnp.issubdtype(x.dtype, ricci.dtypes.prng_key)
    return ricci.random.key_data(x) if is_key else x


def after_empty_caches(steps: list[tuple[Way, bool]]) -> list[Results]:
    """The outcomes of calls made one after the other."""
    ricci.clear_caches()
    return [outcome(*step) for step in steps]


def differences(call: Call) -> list[str]:
    """The differences of a call's results after other calls."""
    found = ways(call)
    widths = (True,) if call.x64 else (False, True)
    steps = list(product(found, widths))
    draw = random.Random(str(call))
    draw.shuffle(steps)
    if not EVERYTHING:
        steps = steps[:2]
    runs = [(found[name], wide) for name, wide in steps]
    forwards, backwards = after_empty_caches(runs), after_empty_caches(runs[::-1])[::-1]
    wrong = []
    for i, (name, wide) in enumerate(steps):
        if i in (0, len(steps) - 1):  # the first of one of the orders
            alone = (forwards if i == 0 else backwards)[i]
        else:
            (alone,) = after_empty_caches([runs[i]])
        for order, results in (("forwards", forwards), ("backwards", backwards)):
            if results[i] != alone:
                wrong.append(
                    f"{call}\n{name}, {64 if wide else 32} bits, {order} in {steps}:\n"
                    f"  {results[i]}\nalone:\n  {alone}"
                )
    return wrong


def differences_in_threads(call: Call) -> list[str]:
    """The differences of a call's results while another thread calls it with other widths."""
    found = list(ways(call).items())
    if not EVERYTHING:
        found = random.Random(str(call)).sample(found, 2)
    # The threads begin at different ends, and meet in the middle.
    runs = [[(way, wide) for _, way in found[:: -1 if wide else 1]] for wide in (False, True)]
    expected = [after_empty_caches(steps) for steps in runs]
    ricci.clear_caches()
    with ThreadPoolExecutor(2) as threads:
        at_once = list(threads.map(lambda steps: [outcome(*step) for step in steps], runs))
    return [
        f"{call}\n{[name for name, _ in found]}, {width} bits:\n  {result}\nalone:\n  {alone}"
        for width, results, others in zip((32, 64), at_once, expected, strict=True)
        for result, alone in zip(results, others, strict=True)
        if result != alone
    ]


CHOSEN = chosen()
PARTS = [CHOSEN[i : i + TOGETHER] for i in range(0, len(CHOSEN), TOGETHER)]


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part[0].function)
def test_every_order_gives_the_same(part):
    wrong = [text for call in part for text in differences(call)]
    assert not wrong, "\n\n".join(wrong)


THREADED = CHOSEN if EVERYTHING else random.Random(1).sample(CHOSEN, 8)


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", THREADED, ids=lambda call: call.function)
def test_two_threads_at_two_widths_get_the_same(call):
    wrong = differences_in_threads(call)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("call", list(further_calls()), ids=lambda call: call.function)
def test_the_calls_of_the_table_are_right(call):
    fun = eval(f"lambda {', '.join(call.inputs)}: {call.source}", ricci_namespace())
    ricci.eval_shape(fun, *map(jnp.asarray, call.inputs.values()))
