"""``precision`` on programs with a planted line that loses accuracy, beside runs in float64."""

import inspect
from itertools import count

import numpy as np
import pytest

pytest.importorskip("ricci", reason="the light tests run where it is not installed")

from planted import line_of_cause
from precision_programs import OTHERS_FIRST, PROGRAMS, counters, mixed, probabilities

import ricci
import ricci.numpy as jnp
from ricci import lax
from ricci import random as jr
from ricci.experimental import io_callback
from ricci.sharding import NamedSharding, PartitionSpec

PLAIN = [p for p in PROGRAMS if p.name.endswith(" plain")]


def report_on(program, **options):
    return ricci.precision(program.call, **options)(*map(jnp.asarray, program.args))


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.name not in OTHERS_FIRST], ids=lambda p: p.name
)
def test_planted_line_is_first(program):
    report = report_on(program)
    assert report.lines[0].line == line_of_cause(program.source), str(report)
    assert not report.unfollowed


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.name in OTHERS_FIRST], ids=lambda p: p.name
)
def test_accepted_programs_begin_with_another_line(program):
    rows = report_on(program).rows
    assert rows[0]["text"] == OTHERS_FIRST[program.name]
    assert line_of_cause(program.source) in [row["line"] for row in rows[1:3]]


def test_planted_line_is_first_in_nearly_all_programs():
    sources = {p.source for p in PROGRAMS}
    assert len(sources) >= 20
    assert len(OTHERS_FIRST) <= 0.1 * len(PROGRAMS)


# Programs that cast to a narrow dtype themselves, that return several arrays, or whose sums a
# compiled function adds in another order.
NOT_COMPARED = frozenset(
    "bucket_numbers calibrated discounted gradients_on_the_wire kalman long_sum loop_total "
    "mean_of_many narrow_gradient_cast narrow_stream narrowed_gradient ode_state odometer "
    "position_table positions prefix_products rotary_angles sample_variance "
    "simulated_time sinusoidal_embedding token_count variance_float32".split()
)
WITH_CASTS = {module.__name__ for module in (counters, mixed, probabilities)}
COMPARED = [
    p
    for p in PLAIN
    if p.source.__name__ not in NOT_COMPARED and p.source.__module__ not in WITH_CASTS
]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("program", COMPARED, ids=lambda p: p.name)
def test_error_is_the_difference_from_the_program_in_float64(program):
    report = report_on(program)
    narrow = np.asarray(program.call(*map(jnp.asarray, program.args)), np.float64)
    with ricci.enable_x64(True):
        wide = np.asarray(program.source(*(jnp.asarray(x, jnp.float64) for x in program.args)))
    if np.isfinite(narrow).all():
        error = np.linalg.norm(narrow - wide) / np.linalg.norm(wide)
        np.testing.assert_allclose(report.error, error, rtol=5e-3)
    else:
        assert report.error == np.inf


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "lines"), [("long_dot", 1), ("softmax", 1), ("layer_norm", 4), ("running_sum", 1)]
)
def test_suggested_casts_bring_the_error_under_the_bound(name, lines):
    (program,) = [p for p in PLAIN if p.source.__name__ == name]
    casts = report_on(program, suggest=True).suggestion
    assert casts.reached and casts.error <= casts.bound
    assert len(casts.lines) <= lines
    assert line_of_cause(program.source) in [row.line for row in casts.lines]


def test_suggested_casts_have_the_error_of_a_program_with_these_casts():
    x = jnp.asarray(np.random.RandomState(0).rand(400), jnp.bfloat16)

    def total(x, dtype=jnp.bfloat16):
        def add(total, x):
            return total + x.astype(dtype), None

        return lax.scan(add, jnp.zeros((), dtype), x)[0].astype(jnp.bfloat16) / 16

    casts = ricci.precision(total, suggest=True)(x).suggestion
    exact = np.asarray(x, np.float64).sum() / 16
    error = abs(float(total(x, jnp.float32)) - exact) / exact
    assert casts.error == pytest.approx(error)


def test_underflow_is_named_with_a_factor_for_the_loss():
    (program,) = [p for p in PROGRAMS if p.name == "flushed_loss gradient"]
    report = report_on(program)
    assert report.lines[0].flushed == 1 and report.lines[0].backward
    factor = report.lines[0].factor
    assert f"multiply the loss by a factor such as 2**{int(np.log2(factor))}" in str(report)

    scaled = ricci.grad(lambda w, x, scale: program.source(w, x, scale * factor) * 4)
    assert np.count_nonzero(scaled(*map(jnp.asarray, program.args))) > 0


def test_small_gradients_beside_a_large_loss_are_not_hidden():
    def loss(w):
        return 100.0 + w * 1e-3 * 1e-3 * 1e-3

    report = ricci.precision(ricci.value_and_grad(loss))(jnp.float16(1))
    assert report.result == "result[1]" and report.error == 1


def test_gradients_that_are_0_but_for_rounding_are_compared_with_the_others():
    def loss(bias, x):
        y = x + bias
        return jnp.sum((y - y.mean()) ** 2)

    x = jnp.asarray(np.random.RandomState(0).rand(64), jnp.float32)
    assert ricci.precision(ricci.value_and_grad(loss))(jnp.float32(1), x).error < 1e-3


def test_rounding_of_one_operand_belongs_to_its_line():
    def wave(t):
        angle = t * 0.7109375
        return jnp.sin(angle)

    rows = ricci.precision(wave)(jnp.arange(100, 200, dtype=jnp.bfloat16)).rows
    assert rows[0]["text"] == "angle = t * 0.7109375"
    assert rows[1]["effect"] < 4e-3


@pytest.mark.parametrize(
    "shifted",
    [lambda x: x - x.max(), lambda x: x - jnp.sort(x)[:1], lambda x: x[1:] - x[:-1]],
    ids=["maximum", "sorted", "neighbours"],
)
def test_rounding_of_a_value_belongs_to_its_line_where_its_elements_are_subtracted(shifted):
    def weights(x):
        scores = x * 61.0  # cause
        return jnp.exp(shifted(scores))

    x = jnp.asarray(np.random.RandomState(0).uniform(0.5, 1.5, 24), jnp.bfloat16)
    lines = ricci.precision(weights)(x).lines
    assert lines[0].line == line_of_cause(weights)
    # Of two values, the difference of the rounded ones is at fault.
    difference = lambda x, y: (x * 61.0) - (y * 61.0)
    assert ricci.precision(difference)(x, x * 1.01).lines[0].operation == "sub"


def test_no_casts_are_suggested_for_results_within_the_bound():
    casts = ricci.precision(lambda x: x * 3, suggest=True)(jnp.ones(3, jnp.bfloat16)).suggestion
    assert casts.reached and casts.lines == ()


def test_unreachable_bound_is_stated():
    x = jnp.asarray([1.1, 2.3], jnp.bfloat16)
    report = ricci.precision(lambda x: x * x, suggest=True, bound=1e-6)(x)
    assert not report.suggestion.reached
    assert "no casts lower the error, to be under the bound 1.0e-06" in str(report)


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan")])
def test_bound_must_be_positive(bound):
    with pytest.raises(ValueError, match="bound must be above 0"):
        ricci.precision(jnp.sin, bound=bound)


def sums(x):
    def add(total, x):
        return total + x, None  # cause

    return lax.scan(add, jnp.zeros(x.shape[1:], x.dtype), x)[0] / 4


SUMS = jnp.asarray(np.random.RandomState(0).rand(64, 8), jnp.bfloat16)
TRANSFORMED = {
    "plain": sums,
    "jit": ricci.jit(sums),
    "vmap": ricci.vmap(sums, in_axes=1),
    "jit of vmap": ricci.jit(ricci.vmap(sums, in_axes=1)),
    "checkpoint": ricci.checkpoint(sums),
    "jvp": lambda x: ricci.jvp(sums, (x,), (x,)),
    "vjp": lambda x: ricci.vjp(sums, x)[0],
    "grad": ricci.grad(lambda x: (sums(x) ** 2).sum()),
    "jvp of grad": lambda x: ricci.jvp(ricci.grad(lambda x: (sums(x) ** 2).sum()), (x,), (x,)),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_lines_are_followed_through_transformations(name, wide):
    with ricci.enable_x64(wide):
        first = ricci.precision(TRANSFORMED[name])(SUMS)
        ricci.clear_caches()
        second = ricci.precision(TRANSFORMED[name])(SUMS)
    assert first.lines[0].line == line_of_cause(sums), str(first)
    assert str(first) == str(second)


def test_devices_of_shard_map_are_followed(eight_devices):
    mesh = ricci.make_mesh((8,), ("i",))
    spec = PartitionSpec(None, "i")
    mapped = ricci.shard_map(
        sums, mesh=mesh, in_specs=spec, out_specs=PartitionSpec("i"), check_vma=False
    )
    report = ricci.precision(mapped)(ricci.device_put(SUMS, NamedSharding(mesh, spec)))
    assert report.lines[0].line == line_of_cause(sums)
    assert report.error == ricci.precision(sums)(SUMS).error


def test_examples_of_a_batched_while_loop_are_followed():
    def double(x):
        return lax.while_loop(lambda x: x < 100.0, lambda x: x * 1.1, x)

    xs = jnp.asarray([1.0, 50.0, 200.0], jnp.bfloat16)
    report = ricci.precision(ricci.vmap(double))(xs)
    each = [ricci.precision(double)(x).error for x in xs]
    assert 0 < report.error <= max(each)


def test_float64_counts_as_exact():
    with ricci.enable_x64(True):
        report = ricci.precision(jnp.sin)(jnp.ones(3, jnp.float64))
    assert report.error == 0 and report.lines == () and report.rows == []
    assert str(report).endswith("no line rounds")


MOVES = {
    "reordered": lambda x: jnp.concatenate([x.T[::-1], x.T]).reshape(-1),
    "stacked": lambda x: jnp.stack([x, -x]),
    "tiled": lambda x: jnp.tile(x, (2, 3)),
    "unstacked": lambda x: jnp.unstack(x)[0],
    "replaced": lambda x: jnp.zeros((64, 8), x.dtype).at[::2].set(x[:32]),
    "extrema": lambda x: x.at[:32].max(x[32:]).at[:32].min(x[:32] * 0),
    "pooled": lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (2, 2), "VALID"),
    "integer parts": lambda x: jnp.floor(x) + 0 * jnp.ceil(x) + 0 * jnp.round(x) + 0 * jnp.sign(x),
    "complex": lambda x: lax.complex(x.astype(jnp.float32), x.astype(jnp.float32)),
    "sorted": lambda x: jnp.sort(x, axis=0),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", MOVES)
def test_lines_that_move_or_select_values_are_not_listed(name):
    def moved(x):
        y = x * 100.1
        return MOVES[name](y)

    (row,) = ricci.precision(moved)(SUMS).rows
    assert row["text"] == "y = x * 100.1"


def test_rounding_of_a_phase_belongs_to_its_line_not_to_its_fraction():
    def wave(t):
        turns = t * 0.159  # cause
        fraction = turns - jnp.floor(turns)
        return jnp.cos(6.28 * fraction)

    lines = ricci.precision(wave)(jnp.arange(50, 400, 9, dtype=jnp.bfloat16)).lines
    assert lines[0].line == line_of_cause(wave)


def test_effects_happen_once():
    calls = count()  # a list would be as before after the run

    def noted(x):
        next(calls)
        return x

    def program(x):
        y = io_callback(noted, x, x * 1.1)
        ricci.debug.callback(noted, y)
        return y * 1.1

    report = ricci.precision(program)(jnp.ones(3, jnp.bfloat16))
    ricci.effects_barrier()
    assert next(calls) == 2 and report.lines


def on_cpu(x):
    """The sum of elements at equal indices, by a function for CPUs."""
    add = lambda x: jnp.zeros(2, x.dtype).at[jnp.array([0, 0, 1])].add(x * x)
    return lax.platform_dependent(x, cpu=add, default=lambda x: x[:2])


COMBINED = {
    "scatter": lambda x: jnp.zeros(4, x.dtype).at[jnp.array([0, 0, 1])].add(x * x),
    "product": lambda x: x.at[jnp.array([0, 0, 1])].mul(x * x),
    "gradient of an index": ricci.grad(lambda x: (x[jnp.array([0, 0, 1])] ** 3).sum()),
    "reduction": lambda x: lax.reduce(x * x, np.zeros((), x.dtype), lambda a, b: a + b, (0,)),
    "window": lambda x: lax.reduce_window(
        x * x, np.zeros((), x.dtype), lambda a, b: a + b, (2,), (1,), "SAME"
    ),
    "platform": on_cpu,
    "platform, under jit": ricci.jit(on_cpu),
    "platform, committed": lambda x: on_cpu(ricci.device_put(x, ricci.devices()[0])),
    "platform, in a loop": lambda x: lax.scan(lambda c, _: (c, on_cpu(c)), x, length=2)[1],
    "platform, gradient": ricci.grad(lambda x: (on_cpu(x) ** 2).sum()),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", COMBINED)
def test_functions_that_combine_elements_are_widened(name, wide):
    x = np.random.RandomState(0).rand(3).astype(np.float32)
    with ricci.enable_x64(wide):
        report = ricci.precision(COMBINED[name])(jnp.asarray(x))
        narrow = np.asarray(COMBINED[name](jnp.asarray(x)), np.float64)
    with ricci.enable_x64(True):
        exact = np.asarray(COMBINED[name](jnp.asarray(x, jnp.float64)))
    error = np.linalg.norm(narrow - exact) / np.linalg.norm(exact)
    np.testing.assert_allclose(report.error, error, rtol=1e-2)
    assert report.error > 0 and report.unfollowed == ()


def test_callbacks_are_named_as_not_followed():
    def program(x):
        return ricci.pure_callback(lambda x: x, x, x * 1.1) * 1.1

    report = ricci.precision(program)(jnp.ones(3, jnp.bfloat16))
    assert report.unfollowed == ("pure_callback",)
    assert "not followed: pure_callback" in str(report)


@pytest.mark.parametrize(
    "args",
    [(jnp.zeros((0, 3), jnp.bfloat16),), (1.5,), (np.float16(1.5),), (3,), (jnp.ones(3, complex),)],
    ids=["empty", "float", "float16", "int", "complex"],
)
def test_arguments_of_all_kinds_are_accepted(args):
    report = ricci.precision(lambda x: jnp.sin(x * 1.1).sum())(*args)
    assert np.isfinite(report.error)


def test_typed_keys_are_accepted():
    def program(key):
        return jr.normal(key, (16,), jnp.bfloat16) * 1.1

    report = ricci.precision(program)(jr.key(0))
    assert 0 < report.error < 0.1


SAMPLES = {
    "normal": lambda key: jr.normal(key, (16,), jnp.float16) * 1.1,
    "complex normal": lambda key: jr.normal(key, (16,), jnp.complex64) * 1.1,
    "gumbel": lambda key: jr.gumbel(key, (16,), jnp.float16) * 1.1,
    "gamma": lambda key: jr.gamma(key, 2.3, (16,)) * 1.1,
    "beta": lambda key: jr.beta(key, 1.3, 2.7, (16,)) * 1.1,
    "mapped gamma": lambda key: ricci.vmap(lambda a: jr.gamma(key, a))(jnp.arange(1.0, 4.0)),
    "without a key": lambda key: lax.rng_uniform(0.1, 1.1, (16,)) * 1.1,
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SAMPLES)
def test_numbers_that_are_drawn_are_those_of_the_function(name):
    reports = [ricci.precision(SAMPLES[name])(jr.key(0)) for _ in range(2)]
    assert all(report.error < 2e-3 for report in reports)
    # The generator without a key has another state the second time.
    assert str(reports[0]) == str(reports[1]) or name == "without a key"
    is_followed = "gamma" not in name and name not in ("beta", "without a key")
    assert (reports[0].unfollowed == ()) == is_followed


def test_infinite_results_do_not_hide_the_errors_of_others():
    def program(x):
        return jnp.exp(1e3 + x), (x - x.mean()).sum(), x * 1.1

    x = jnp.asarray(np.random.RandomState(0).rand(64), jnp.float16)
    report = ricci.precision(program)(x)
    assert report.result == "result[1]" and 1e-3 < report.error < 1


def test_results_are_named():
    def program(x):
        return {"exact": x, "rounded": x * 1.1}

    assert ricci.precision(program)(SUMS).result == "result['rounded']"


def test_reference_state_is_followed():
    def program(x):
        total = ricci.new_ref(jnp.zeros(8, x.dtype))

        def add(i, _):
            total[...] = total[...] + x[i]  # cause

        lax.fori_loop(0, 64, add, None)
        return total[...]

    report = ricci.precision(program)(SUMS)
    assert report.lines[0].line == line_of_cause(program)


def test_primitives_of_libraries_are_evaluated_with_arrays():
    first = ricci.extend.core.Primitive("first_set_to_one")
    first.def_impl(lambda x: x.at[0].set(1.0))
    first.def_abstract_eval(lambda x: x)
    report = ricci.precision(lambda x: first.bind(x + 0.1) * 3.0)(jnp.ones(3))
    assert report.lines


def test_operations_inside_of_a_librarys_primitive_are_followed():
    logarithm = ricci.extend.core.Primitive("logarithm")
    logarithm.def_impl(lambda x: jnp.log(1 + x))
    logarithm.def_abstract_eval(lambda x: x)
    report = ricci.precision(lambda x: logarithm.bind(x * 2.0) * 3.0)(jnp.full(3, 1e-6))
    assert report.error > 1e-3
    assert report.lines[0].operation == "log"
    assert not report.unfollowed


def decayed(x):
    decay = jnp.asarray(0.9985, x.dtype)  # cause
    return x * decay


# Ways to write a constant, each of which bfloat16 rounds from 0.9985 to 1. Arrays are powers of 2.
CONSTANTS = {
    "a number": lambda x: x * 0.9985,
    "a number of the module": lambda x: FACTOR * x,
    "a scalar of a type": lambda x: x * jnp.bfloat16(0.9985),
    "an array": decayed,
    "an array of NumPy": lambda x: x * jnp.array(np.full(8, 0.9985), x.dtype),
    "a list": lambda x: x * jnp.array([0.9985] * 8, x.dtype),
    "a wide array": lambda x: x * jnp.float32(0.9985).astype(x.dtype),
    "a filled array": lambda x: x * jnp.full(8, 0.9985, jnp.bfloat16),
    "an array like another": lambda x: jnp.full_like(x, 0.9985) * x,
    "a filled array of lax": lambda x: lax.full_like(x, 0.9985) * x,
    "a conversion": lambda x: x * lax.convert_element_type(0.9985, x.dtype),
    "a choice": lambda x: jnp.where(x > 0, 0.9985, x) * x,
    "in a loop": lambda x: lax.fori_loop(0, 1, lambda i, c: c * 0.9985, x),
    "for each example": lambda x: ricci.vmap(lambda u: u * 0.9985)(x),
    "in a gradient": lambda x: ricci.grad(lambda u: u[0] * 0.9985)(x),
}
FACTOR = 0.9985


@pytest.mark.sampled(5)
@pytest.mark.parametrize("way", CONSTANTS)
def test_a_constant_is_compared_with_the_number_in_the_code(way):
    x = jnp.array(2.0 ** np.arange(8), jnp.bfloat16)
    run = CONSTANTS[way]
    for call in (run, ricci.jit(run), run):
        report = ricci.precision(call)(x)
        np.testing.assert_allclose(report.error, 0.0015 / 0.9985, rtol=1e-4)
        assert report.rows[0]["text"] in inspect.getsource(run)
        np.testing.assert_allclose(report.lines[0].local, 0.0015 / 0.9985, rtol=1e-4)


def test_exact_constants_make_no_error():
    x = jnp.array(2.0 ** np.arange(8), jnp.bfloat16)
    assert ricci.precision(lambda x: 0.5 * x * jnp.full(8, 3.0, x.dtype) + 0)(x).error == 0


def test_products_below_the_range_of_squares_have_their_error():
    def likelihood(x):
        product = jnp.prod(x)  # cause
        return jnp.log(product)

    report = ricci.precision(likelihood)(jnp.full(300, 0.25, jnp.float32))
    rows = {row.line: row.local for row in report.lines}
    assert rows[line_of_cause(likelihood)] == 1.0
