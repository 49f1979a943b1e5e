"""Callbacks: their programs, what transformations make of them, and their errors."""

import io
import logging
import re
from typing import Any

import numpy as np
import pytest

import ricci_ir as ir
import ricci_lax as lax
from ricci_autodiff import grad, jvp, linear_transpose, linearize
from ricci_batching import vmap
from ricci_lax import checkpoint_policies
from ricci_stablehlo import HostCallback, lower_jaxpr

F32 = ir.ShapeDtypeStruct((), np.dtype(np.float32))
X = np.float32(2.0)
THREE: Any = 3


@pytest.fixture(autouse=True)
def backend():
    reference = pytest.importorskip("ricci_reference", reason="values need a backend")
    with ir.use_backend(reference.reference_backend):
        yield


def sine(x):
    return np.sin(x)


def show(x):
    """Prints, and goes on."""
    lax.debug_print("x={}", x)
    return lax.mul(x, x)


def call(x, **options):
    return lax.pure_callback(sine, F32, x, **options)


def do(x, **options):
    return lax.io_callback(sine, F32, x, **options)


def printed(jaxpr):
    text = re.sub(r" at 0x\w+", "", str(jaxpr))
    return re.sub(r"np_printoptions=.*", "np_printoptions=...", text)


# Programs


def test_pure_callback_prints_as_in_jax():
    assert printed(ir.make_jaxpr(call)(X)) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = pure_callback[\n"
        "      callback=_FlatCallback(callback_func=<function sine>, "
        "in_tree=PyTreeDef(((*,), {})))\n"
        "      result_avals=(ShapedArray(float32[]),)\n"
        "      sharding=None\n"
        "      vmap_method=None\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_io_callback_prints_as_in_jax():
    jaxpr = ir.make_jaxpr(lambda x: do(x, ordered=True))(X)
    assert printed(jaxpr) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = io_callback[\n"
        "      callback=_FlatCallback(callback_func=<function sine>, "
        "in_tree=PyTreeDef(((*,), {})))\n"
        "      ordered=True\n"
        "      result_avals=(ShapedArray(float32[]),)\n"
        "      sharding=None\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_debug_print_prints_as_in_jax():
    jaxpr = ir.make_jaxpr(lambda x: lax.debug_print("{} {y}", x, y="h"))(X)
    assert printed(jaxpr) == (
        "{ lambda ; a:f32[]. let\n"
        "    debug_print[\n"
        "      fmt={} {y}\n"
        "      has_placeholders=True\n"
        "      in_tree=PyTreeDef(((*,), {'y': *}))\n"
        "      logging_record=None\n"
        "      np_printoptions=...\n"
        "      ordered=False\n"
        "      partitioned=False\n"
        "      static_args=((1, 'h'),)\n"
        "    ] a\n"
        "  in () }"
    )


@pytest.mark.parametrize(
    ("fun", "effects"),
    [
        (call, []),
        (do, ["IO"]),
        (lambda x: do(x, ordered=True), ["OrderedIO"]),
        (show, ["Debug"]),
        (lambda x: lax.debug_print("", ordered=True), ["OrderedDebug"]),
        (lambda x: lax.debug_callback(sine, x, ordered=True), ["OrderedDebug"]),
        (lambda x: lax.scan(lambda c, _: (show(c), c), x, length=2), ["Debug"]),
        (lambda x: lax.cond(lax.lt(x, X), show, do, x), ["Debug", "IO"]),
    ],
)
def test_jaxprs_list_their_effects(fun, effects):
    jaxpr = ir.make_jaxpr(fun)(X)
    assert sorted(map(str, jaxpr.effects)) == effects
    ir.check_jaxpr(jaxpr)


def count(jaxpr, name):
    """Count the equations of a primitive in a jaxpr, inner jaxprs included."""
    inner = sum(count(j, name) for eqn in jaxpr.eqns for j in ir.jaxprs_in_params(eqn.params))
    return inner + sum(eqn.primitive.name == name for eqn in jaxpr.eqns)


@pytest.mark.parametrize(
    ("transform", "times"),
    [
        (grad, 1),
        (lambda f: lambda x: jvp(f, (x,), (x,)), 1),
        (lambda f: lambda x: linearize(f, x)[1](x), 1),
        (lambda f: grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, length=3)[0]), 1),
        (lambda f: grad(lambda x: lax.cond(lax.lt(x, X), f, f, x)), 2),
        (lambda f: grad(lax.checkpoint(f)), 2),
        (lambda f: grad(lax.checkpoint(f, policy=checkpoint_policies.everything_saveable)), 1),
        (lambda f: lambda x: lax.cond(lax.lt(x, X), f, lambda x: x, x), 1),
    ],
)
def test_effects_are_not_pruned_away(transform, times):
    jaxpr = ir.make_jaxpr(transform(show))(X)
    assert count(jaxpr, "debug_print") == times


def test_loop_invariant_code_with_effects_stays_in_the_loop():
    """The residual does not vary as far as data goes, but each iteration must ask again."""

    def step(c, _):
        return lax.mul(c, lax.stop_gradient(do(X))), None

    jaxpr = ir.make_jaxpr(grad(lambda x: lax.scan(step, x, length=3)[0]))(X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns if eqn.effects] == ["scan"]
    assert count(jaxpr, "io_callback") == 1


# vmap


@pytest.mark.parametrize(
    ("method", "primitives", "shapes"),
    [
        ("sequential", ["scan"], None),
        ("sequential_unrolled", ["scan"], None),
        ("expand_dims", ["broadcast_in_dim", "pure_callback"], [(3,), (1,)]),
        ("broadcast_all", ["broadcast_in_dim", "pure_callback"], [(3,), (3,)]),
        ("legacy_vectorized", ["pure_callback"], [(3,), ()]),
    ],
)
def test_vmap_methods(method, primitives, shapes):
    def fun(x, y):
        return lax.pure_callback(np.add, F32, x, y, vmap_method=method)

    xs = np.arange(3, dtype=np.float32)
    batched = vmap(fun, (0, None))
    jaxpr = ir.make_jaxpr(batched)(xs, X)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == primitives
    if shapes:
        assert [v.aval.shape for v in jaxpr.eqns[-1].invars] == shapes
    np.testing.assert_array_equal(batched(xs, X), xs + X)


def test_sequential_unrolled_unrolls():
    fun = vmap(lambda x: call(x, vmap_method="sequential_unrolled"))
    (eqn,) = ir.make_jaxpr(fun)(np.zeros(3, np.float32)).eqns
    assert eqn.params["unroll"] == 3


def test_io_callback_is_called_for_each_example():
    seen = []
    xs = np.arange(6, dtype=np.int32).reshape(2, 3)
    vmap(lambda x: lax.io_callback(lambda x: seen.append(x.tolist()), None, x), 1)(xs)
    assert seen == [[0, 3], [1, 4], [2, 5]]


def test_debug_print_prints_each_example(capsys):
    vmap(lambda x, y: lax.debug_print("{} {}", x, y), (0, None))(np.arange(2), 7)
    assert capsys.readouterr().out == "0 7\n1 7\n"


def test_vmap_of_an_unbatched_debug_print_prints_once(capsys):
    vmap(lambda x: lax.debug_print("hi"))(np.arange(3))
    assert capsys.readouterr().out == "hi\n"


# Values


def test_results_are_pytrees():
    types = {"a": ir.ShapeDtypeStruct((2,), np.dtype(np.int32)), "b": (F32,)}
    out = lax.pure_callback(lambda x, *, k: {"a": np.array([1, int(k)]), "b": (x,)}, types, X, k=3)
    assert sorted(out) == ["a", "b"]
    assert out["a"].tolist() == [1, 3] and float(out["b"][0]) == 2.0


def test_callbacks_accept_static_arguments():
    seen = []
    lax.debug_callback(lambda *args, **kwargs: seen.append((args, kwargs)), 1, "s", None, k=object)
    ((one, s, none), kwargs), *_ = seen
    assert (int(one), s, none, kwargs) == (1, "s", None, {"k": object})


@pytest.mark.parametrize("returned", [3.0, np.float64(3.0), np.float32(3.0)])
def test_wide_results_are_narrowed(returned):
    assert float(lax.pure_callback(lambda: returned, F32)) == 3.0


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        (("hello",), {}, "hello"),
        (("{} {}", 1, 2.5), {}, "1 2.5"),
        (("{1} {0}", 1, 2), {}, "2 1"),
        (("{x:.2f} {y}",), {"x": 1.0, "y": "s"}, "1.00 s"),
        (("{} {{}}", 1), {}, "1 {}"),
        (("{{}} {}", 1), {}, "{} 1"),
        (("{x[0]} {0.shape}", np.zeros(2)), {"x": [5, 6]}, "5 (2,)"),
        (("{:>{}}", "a", 3), {}, "  a"),
    ],
)
def test_formats(args, kwargs, text, capsys):
    lax.debug_print(*args, **kwargs)
    assert capsys.readouterr().out == text + "\n"


def test_values_without_a_placeholder_follow_the_text(capsys):
    lax.debug_print("x", 1, k=2, skip_format_check=True)
    assert capsys.readouterr().out == "x 1 k=2\n"


def test_numpy_options_are_those_of_the_call(capsys):
    with np.printoptions(precision=2):
        jaxpr = ir.make_jaxpr(lambda x: lax.debug_print("{}", x))(np.ones(1, np.float32))
    ir.eval_jaxpr(jaxpr, (), np.full(1, 1 / 3, np.float32))
    assert capsys.readouterr().out == "[0.33]\n"


def test_log_records_the_source_line(caplog):
    lax.debug_log("x={}", 1)  # at the level that the root logger has by default
    (record,) = caplog.records
    assert (record.getMessage(), record.filename) == ("x=1", "test_callbacks.py")
    with caplog.at_level(logging.WARNING, "ricci.debug"):
        lax.debug_log("x={}", 2)
    assert len(caplog.records) == 1


def test_options_can_be_given_first(capsys):
    lax.debug_print(ordered=True)("{}", 1)
    assert capsys.readouterr().out == "1\n"


def test_tangents_print_where_they_are_computed(capsys):
    @lax.custom_jvp
    def f(x):
        return lax.mul(x, x)

    @f.defjvp
    def _(primals, tangents):
        lax.debug_print("{}", tangents[0])
        return f(*primals), lax.mul(tangents[0], X)

    _, f_jvp = linearize(f, X)
    assert capsys.readouterr().out == ""
    f_jvp(np.float32(5.0))
    assert capsys.readouterr().out == "5.0\n"


def test_transposing_a_callback_of_a_linear_value_drops_it(capsys):
    def f(x):
        lax.debug_print("{}", x)
        return lax.mul(x, X)

    (out,) = linear_transpose(f, X)(X)
    assert float(out) == 4.0 and capsys.readouterr().out == ""


# Lowering


def lowered(fun, *args, **options):
    found: list[HostCallback] = []
    jaxpr = ir.make_jaxpr(fun)(*args)
    return lower_jaxpr(jaxpr, "f", host_callbacks=found, **options), found


@pytest.mark.parametrize(
    ("platform", "target"),
    [
        ("cpu", "xla_ffi_python_cpu_callback"),
        ("cuda", "xla_ffi_python_gpu_callback"),
        ("rocm", "xla_ffi_python_gpu_callback"),
    ],
)
def test_the_kernel_is_that_of_the_platform(platform, target):
    text, callbacks = lowered(lambda x: (do(x), show(x)), X, platform=platform)
    assert text.count(f'"{target}"') == len(callbacks) == 2
    assert "index = 0 : ui64" in text and "index = 1 : ui64" in text


def test_a_platform_without_callbacks_is_refused():
    with pytest.raises(NotImplementedError, match="Host callbacks are not supported on metal"):
        lowered(show, X, platform="metal")


def test_tpus_send_operands_and_receive_an_answer():
    text, (callback,) = lowered(show, X, platform="tpu")
    assert text.index("stablehlo.send") < text.index("stablehlo.recv")
    assert callback.channels == ((2,), (3,))
    assert [aval.str_short() for aval in callback.out_avals] == ["float32[]"]


def test_partitioned_calls_have_another_kernel():
    text, _ = lowered(lambda x: lax.debug_print("{}", x, partitioned=True), X)
    assert "xla_ffi_partitioned_python_cpu_callback" in text


def test_only_ordered_effects_have_tokens():
    ordered = lambda x: lax.debug_print("{}", x, ordered=True)
    assert "token" not in lowered(show, X)[0]
    assert "%arg0: !stablehlo.token {jax.token = true}" in lowered(ordered, X)[0]


def test_each_kind_of_ordered_effects_has_a_token():
    def fun(x):
        lax.debug_print("{}", x, ordered=True)
        return do(x, ordered=True), do(x, ordered=True)

    text, _ = lowered(fun, X)
    main = next(line for line in text.splitlines() if "@main" in line)
    assert main.count("!stablehlo.token") == 4


def test_donated_arguments_count_behind_tokens():
    jaxpr = ir.make_jaxpr(lambda x: do(x, ordered=True))(X)
    assert "%arg1: tensor<f32> {tf.aliasing_output = 1 : i32}" in lower_jaxpr(
        jaxpr, "f", aliases={0: 0}
    )


def test_a_condition_with_effects_is_written_for_the_start_and_for_each_iteration():
    def condition(x):
        lax.debug_print("{}", x)
        return lax.lt(x, X)

    text, callbacks = lowered(lambda x: lax.while_loop(condition, lambda x: lax.add(x, X), x), X)
    assert len(callbacks) == 2
    start, loop = text.split('"stablehlo.while"')
    assert start.count("xla_ffi") == loop.count("xla_ffi") == 1


def test_a_pure_callback_with_unused_results_is_dead_code():
    assert lowered(lambda x: lax.pure_callback(lambda x: None, (), x), X)[1] == []


# Errors


def failing(x):
    raise ValueError("boom")


@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (lambda: grad(call)(X), ValueError, "pure_callback.*custom_jvp"),
        (lambda: grad(do)(X), ValueError, "io_callback.*stop_gradient"),
        (lambda: jvp(do, (X,), (X,)), ValueError, "io_callback"),
        (lambda: vmap(call)(np.zeros(3)), NotImplementedError, "vmap_method.*'sequential'"),
        (lambda: vmap(lambda x: do(x, ordered=True))(np.zeros(3)), ValueError, "ordered=False"),
        (
            lambda: grad(lax.checkpoint(lambda x: lax.mul(x, do(lax.stop_gradient(x)))))(X),
            NotImplementedError,
            "checkpoint.*io_callback",
        ),
        (lambda: call(X, vmap_method="bogus"), ValueError, "vmap_method='bogus' is none of"),
        (lambda: lax.pure_callback(THREE, F32), TypeError, "must be a function, got 3"),
        (lambda: lax.pure_callback(sine, F32, "s"), TypeError, "is 's', of type str"),
        (lambda: lax.pure_callback(sine, {"a": 1.0}), TypeError, r"result_shape_dtypes\['a'\]"),
        (
            lambda: lax.pure_callback(sine, ir.ShapeDtypeStruct((), np.dtype(np.float64))),
            ValueError,
            "64-bit dtype float64.*enable_x64",
        ),
        (lambda: call(X, sharding=3), NotImplementedError, "one device"),
        (lambda: lax.pure_callback(failing, F32, X), RuntimeError, "failing failed.*boom"),
        (
            lambda: lax.pure_callback(lambda: np.zeros(3), F32),
            RuntimeError,
            r"(?s)Expected: float32\[\].*Actual: float32\[3\]",
        ),
        (lambda: lax.pure_callback(lambda: 3, F32), RuntimeError, r"Actual: int"),
        (lambda: lax.pure_callback(lambda: (X, X), F32), RuntimeError, "2 arrays.*has 1"),
        (lambda: lax.debug_callback(failing, X), ValueError, "boom"),
        (lambda: lax.debug_callback(THREE), TypeError, "must be a function, got 3"),
        (lambda: lax.debug_print(THREE), TypeError, "must be a string, got int"),
        (lambda: lax.debug_print("{} {}", 1), IndexError, "positional argument 1, but 1"),
        (lambda: lax.debug_print("{x}", y=1), KeyError, "'x'.*y"),
        (lambda: lax.debug_print("x", 1), ValueError, "no place for positional argument 0"),
        (lambda: lax.debug_print("x", y=1), ValueError, "no place for y.*f-string"),
        (lambda: lax.debug_print("{"), ValueError, "Single '{'"),
        (lambda: lax.debug_breakpoint(backend="web"), ValueError, "'web' is not known"),
    ],
)
def test_errors(fun, error, message):
    with pytest.raises(error, match=message):
        fun()


def test_formats_are_checked_while_tracing():
    with pytest.raises(ValueError, match="no place"):
        ir.make_jaxpr(lambda x: lax.debug_print("x", x))(X)


def test_a_breakpoint_needs_a_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(RuntimeError, match="needs a terminal"):
        lax.debug_breakpoint()


def test_a_breakpoint_that_is_not_reached_needs_no_terminal(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    fun = lambda x: lax.cond(lax.gt(x, 5.0), lambda: lax.debug_breakpoint(), lambda: None)
    fun(1.0)
    with pytest.raises(RuntimeError, match="needs a terminal"):
        fun(6.0)


def _prompt_of(monkeypatch, capsys, *commands):
    """The output of a breakpoint for some commands."""

    def inner(x):
        y = lax.add(x, X)
        lax.debug_breakpoint(z=5)
        return y

    def outer(first):
        return inner(first)

    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(commands)))
    outer(X)
    return capsys.readouterr().out


def test_a_breakpoint_prints_its_line_and_variables(monkeypatch, capsys):
    shown = _prompt_of(monkeypatch, capsys)
    assert "Stopped at" in shown and "inner" in shown
    assert "x, y, z" in shown and "Commands: p, l, u, d, c, q, h" in shown


@pytest.mark.parametrize(
    ("commands", "words"),
    [
        (("p y",), ["4."]),
        (("p lax.add(y, y)", "c", "p nothing"), ["8."]),
        (("lax.mul(y, y)",), ["16."]),
        (("k = 7 * 5", "k", "w"), ["35", "outer"]),
        (("l",), ["-> ", "lax.debug_breakpoint(z=5)", "def inner(x):"]),
        (("u", "p first", "p y"), ["in ", "outer", "2.", "NameError"]),
        (("u", "d", "p y"), ["4."]),
        (("d",), ["innermost"]),
        (("p 1 +",), ["SyntaxError"]),
        (("h",), ["stop the program"]),
    ],
)
def test_commands_of_a_breakpoint(monkeypatch, capsys, commands, words):
    shown = _prompt_of(monkeypatch, capsys, *commands)
    assert [word for word in words if word not in shown] == []


def test_the_variables_of_a_breakpoint_can_be_changed(monkeypatch, capsys):
    assert "8." in _prompt_of(monkeypatch, capsys, "y = lax.add(y, y)", "p y")


def test_q_stops_the_program(monkeypatch, capsys):
    with pytest.raises(Exception, match="q stopped the program at"):
        _prompt_of(monkeypatch, capsys, "q")
    assert "Traceback" not in _prompt_of(monkeypatch, capsys, "c")


@pytest.mark.parametrize("loop", ["cond", "while"])
def test_io_callback_is_refused_where_unselected_examples_run(loop):
    xs = np.arange(3, dtype=np.float32)
    funs = {
        "cond": lambda x: lax.cond(lax.lt(x, X), do, lambda x: x, x),
        "while": lambda x: lax.while_loop(lambda x: lax.lt(x, X), do, x),
    }
    with pytest.raises(NotImplementedError, match="io_callback"):
        vmap(funs[loop])(xs)
