"""Composites and operations: what applies them, in a trace and outside of any."""

import numpy as np
import pytest

import ricci_ir as ir

F32 = ir.ShapedArray((3,), np.float32)
double_p = ir.Primitive("double", lambda x, **_: x)
pair_p = ir.Primitive("pair", lambda x: [x, x], multiple_results=True)


@pytest.fixture(autouse=True)
def call(monkeypatch):
    def out_avals(*avals, jaxpr, name):
        return jaxpr.out_avals

    primitive = ir.Primitive("jit", out_avals, multiple_results=True, memo=False)
    monkeypatch.setattr(ir.staged_call, "call", primitive)
    return primitive


class Backend:
    """Records its calls, and dispatches composites if the test sets a flag."""

    def __init__(self, dispatches: bool = True):
        self.dispatches = dispatches
        self.asked = []

    def evaluate(self, primitive, args, params):
        self.asked.append(primitive.name)
        return ["evaluated"] * len(args)

    def operation(self, primitive, params):
        self.asked.append(f"operation {primitive.name}")
        return lambda *args: (primitive.name, args, params)

    def dispatcher(self, composite):
        self.asked.append(f"dispatcher {composite.name}")
        return (lambda settings, *args: (settings, args)) if self.dispatches else None


def twice(x, *, n=1):
    return double_p.bind(x, n=n)


def test_eager_composites_call_the_backend():
    step = ir.Composite(twice, "twice")
    x = np.zeros(3, np.float32)
    with ir.use_backend(Backend()):
        assert step(x, n=2) == ((("n", 2),), (x,))
        assert step(x) == ((), (x,))
        assert ir.backend().asked == ["dispatcher twice"]


def test_composites_are_rebuilt_for_another_backend():
    step, operation = ir.Composite(twice, "twice"), ir.Operation(double_p, n=1)
    x = np.zeros(3, np.float32)
    for backend in Backend(), Backend():
        with ir.use_backend(backend):
            assert step(x) == ((), (x,))
            assert operation(x) == ("double", (x,), {"n": 1})
            assert operation(x) == ("double", (x,), {"n": 1})
            assert backend.asked == ["dispatcher twice", "operation double"]


def test_without_a_dispatcher_a_composite_is_one_staged_call():
    step = ir.Composite(twice, "twice")
    with ir.use_backend(Backend(dispatches=False)):
        assert step(np.zeros(3, np.float32)) == "evaluated"
        assert ir.backend().asked == ["dispatcher twice", "jit"]


def test_a_program_shares_the_calls_of_a_type_and_settings():
    step = ir.Composite(twice, "twice")
    with ir.use_backend(Backend()):
        jaxpr = ir.trace_to_jaxpr(lambda x: [step(step(x)), step(x, n=2)], [F32])
        assert not ir.backend().asked
    called = [eqn.params["jaxpr"] for eqn in jaxpr.eqns]
    assert called[0] is called[1] is not called[2]
    assert [eqn.params["name"] for eqn in jaxpr.eqns] == ["twice"] * 3


def test_an_inlined_composite_is_part_of_the_program_that_is_recorded():
    step = ir.inlined("twice")(twice)
    jaxpr = ir.trace_to_jaxpr(lambda x: [step(x)], [F32])
    assert [eqn.primitive for eqn in jaxpr.eqns] == [double_p]


def test_several_results_are_a_tuple_and_arrays_that_are_not_given_are_none():
    given = []

    @ir.composite("pair")
    def pair(x, mask, y):
        given.append(mask)
        return pair_p.bind(y)

    jaxpr = ir.trace_to_jaxpr(lambda x: [*pair(x, None, x)], [F32])
    assert given == [None] and len(jaxpr.outvars) == 2 and len(jaxpr.eqns[0].invars) == 2


def test_traced_operations_do_not_convert_their_parameters():
    operation = ir.Operation(double_p, n=1)
    jaxpr = ir.trace_to_jaxpr(lambda x: [operation(operation(x))], [F32])
    jaxpr.eqns[0].params["n"] = 5
    assert operation.params == {"n": 1} == jaxpr.eqns[1].params


def test_settings_that_cannot_be_hashed_are_refused():
    step = ir.Composite(twice, "twice")
    with pytest.raises(TypeError, match="unhashable"):
        ir.trace_to_jaxpr(lambda x: [step(x, n=[1])], [F32])
