"""Traces and tracers: leaks, restoration, threads, scopes and sources."""

import inspect
import threading

import numpy as np
import pytest

import ricci_ir as ir

SCALAR = ir.ShapedArray((), np.float32)
X = ir.ShapedArray((3,), np.float32)


def line():
    return inspect.currentframe().f_back.f_lineno


def test_a_leaked_tracer_is_an_error_and_the_process_goes_on(toy):
    leaked = []
    ir.trace_to_jaxpr(lambda x: leaked.append(toy.sin(x)) or [x], [SCALAR])
    with pytest.raises(ir.UnexpectedTracerError) as caught:
        ir.trace_to_jaxpr(lambda y: [toy.mul(y, leaked[0])], [SCALAR])
    message = str(caught.value)
    assert "was passed to 'mul'" in message and f"by 'sin' at {__file__}:" in message
    assert len(message.split("\n")) <= 12
    assert ir.context.trace is ir.eval_trace
    assert len(ir.trace_to_jaxpr(lambda y: [toy.sin(y)], [SCALAR]).eqns) == 1


def test_a_leaked_argument_is_named(toy):
    leaked = []

    def fun(weights):
        leaked.append(weights)
        return weights

    ir.make_jaxpr(fun)(1.0)
    with pytest.raises(ir.UnexpectedTracerError, match="tracing fun .*its argument weights"):
        ir.make_jaxpr(lambda y: toy.sin(leaked[0]))(1.0)


def test_a_tracer_of_an_inner_trace_does_not_pass_to_the_outer(toy):
    leaked = []

    def outer(x):
        ir.trace_to_jaxpr(lambda y: leaked.append(y) or [y], [SCALAR])
        return [toy.mul(x, leaked[0])]

    with pytest.raises(ir.UnexpectedTracerError):
        ir.trace_to_jaxpr(outer, [SCALAR])


def test_a_tracer_of_the_outer_trace_becomes_a_constant_of_the_inner(toy):
    inner = []

    def outer(x):
        inner.append(ir.trace_to_jaxpr(lambda y: [toy.mul(y, x)], [SCALAR]))
        return ir.jaxpr_as_fun(inner[0], x)

    assert str(ir.trace_to_jaxpr(outer, [SCALAR])) == (
        "{ lambda ; a:f32[]. let b:f32[] = mul a a in (b,) }"
    )
    assert ir.closes_over_tracers(inner[0])


def test_a_failed_trace_leaves_nothing_behind(toy):
    with pytest.raises(ZeroDivisionError):
        ir.trace_to_jaxpr(lambda x: [toy.sin(x), 1 // 0], [SCALAR])
    assert ir.context.trace is ir.eval_trace


@pytest.mark.parametrize(
    ("enter", "read"),
    [
        (lambda: ir.set_trace(ir.JaxprTrace(ir.eval_trace)), lambda: ir.context.trace),
        (lambda: ir.extend_axes([("i", 2)]), lambda: ir.axis_sizes.value),
        (lambda: ir.named_scope("s"), lambda: ir.context.name_stack),
        (ir.ensure_compile_time_eval, lambda: ir.context.trace),
    ],
)
def test_contexts_end_with_their_block_whatever_happens(enter, read):
    with ir.set_trace(ir.JaxprTrace(ir.eval_trace)):
        before = read()
        with pytest.raises(KeyError), enter():
            assert read() is not before
            raise KeyError
        assert read() is before


def test_traces_belong_to_their_thread(toy):
    traced, done = threading.Event(), threading.Event()
    seen = {}

    def worker():
        traced.wait(10)
        seen["trace"] = ir.context.trace
        seen["scope"] = ir.context.name_stack
        seen["axes"] = ir.axis_sizes.value
        seen["value"] = toy.sin(np.float32(0))
        done.set()

    thread = threading.Thread(target=worker)
    thread.start()

    def fun(x):
        with ir.named_scope("here"), ir.extend_axes([("i", 2)]):
            traced.set()
            assert done.wait(10)
            return [toy.sin(x)]

    ir.trace_to_jaxpr(fun, [SCALAR])
    thread.join()
    assert seen == {"trace": ir.eval_trace, "scope": (), "axes": {}, "value": 0}


def test_evaluating_at_trace_time(toy):
    def fun(x):
        with ir.ensure_compile_time_eval():
            known = toy.sin(np.float32(0))
        assert isinstance(known, np.generic | np.ndarray)
        return [toy.mul(x, known)]

    assert len(ir.trace_to_jaxpr(fun, [SCALAR]).eqns) == 1


def test_sources_point_at_the_line_and_carry_the_scope(toy):
    lines = []

    def fun(x):
        with ir.named_scope("outer"):
            lines.append(line() + 1)
            y = toy.sin(x)
            with ir.named_scope("inner"):
                z = toy.sin(y)
        return [toy.sin(z)]

    sources = [eqn.source for eqn in ir.trace_to_jaxpr(fun, [SCALAR]).eqns]
    assert {s.file for s in sources} == {__file__}
    assert [s.line - lines[0] for s in sources] == [0, 2, 3]
    assert [s.name_stack for s in sources] == [("outer",), ("outer", "inner"), ()]
    assert sources[0].function.endswith("fun")


def test_named_scope_wants_a_string():
    with pytest.raises(TypeError, match="must be a string, got 3"):
        ir.named_scope(3)


def test_axis_sizes():
    with ir.extend_axes([("i", 2)]), ir.extend_axes([("j", 3)]):
        assert (ir.axis_size("i"), ir.axis_size(("i", "j"))) == (2, 6)
        with pytest.raises(NameError, match="unbound axis name: 'k'. Axes in scope: 'i', 'j'"):
            ir.axis_size("k")


USES = [
    (bool, ir.TracerBoolConversionError),
    (int, ir.ConcretizationTypeError),
    (float, ir.ConcretizationTypeError),
    (complex, ir.ConcretizationTypeError),
    (np.asarray, ir.TracerArrayConversionError),
    (lambda x: [1, 2][x], ir.TracerIntegerConversionError),
    (lambda x: x.item(), ir.ConcretizationTypeError),
    (lambda x: x.tolist(), ir.ConcretizationTypeError),
]


@pytest.mark.parametrize(("use", "error"), USES)
def test_uses_that_need_the_value(use, error):
    with pytest.raises(error, match="argument weights") as caught:
        ir.make_jaxpr(lambda weights: use(weights))(np.int32(1))
    assert len(str(caught.value).split("\n")) <= 12


def test_tracers_answer_for_their_type():
    seen = []

    def fun(x):
        seen.append((x.shape, x.dtype, x.ndim, x.size, x.weak_type, len(x), ir.is_concrete(x)))
        with pytest.raises(TypeError, match="immutable"):
            x[0] = 1
        with pytest.raises(TypeError, match="unhashable"):
            hash(x)
        assert isinstance(x, ir.Array)
        return [x]

    ir.trace_to_jaxpr(fun, [X])
    assert seen == [((3,), np.dtype("float32"), 1, 3, False, 3, False)]
