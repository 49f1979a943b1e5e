"""Types, effects and objects of references, without a primitive that reads or writes."""

import copy
import pickle
import threading

import numpy as np
import pytest

from ricci_ir import (
    AbstractRef,
    Ref,
    ShapedArray,
    Trace,
    Tracer,
    Var,
    accumulate_effect,
    check_distinct,
    eval_trace,
    get_aval,
    inside_effect,
    is_reference,
    locked,
    only_droppable,
    program_effects,
    read_effect,
    set_trace,
    trace_to_jaxpr,
    uses_references,
    write_effect,
)

F3 = ShapedArray((3,), np.float32)


def new(value=1.0):
    return Ref(AbstractRef(get_aval(value)), value)


def test_equal_types_are_one_object_also_after_pickling():
    aval = AbstractRef(F3)
    assert aval is AbstractRef(ShapedArray((3,), "float32"))
    assert pickle.loads(pickle.dumps(aval)) is aval and copy.deepcopy(aval) is aval
    assert AbstractRef(F3, kind="k") is not aval and AbstractRef(F3, "host") is not aval
    assert (str(aval), aval.str_short(short_dtypes=True)) == ("Ref{float32[3]}", "Ref{f32[3]}")
    assert (aval.shape, aval.dtype, aval.ndim, aval.size, len(aval)) == ((3,), np.float32, 1, 3, 3)


def test_a_type_is_refused_where_an_array_is_expected():
    with pytest.raises(TypeError, match=r"Read it first: ref\[...\]"):
        AbstractRef(F3).insert_dimension(0, 2)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = AbstractRef(F3).nothing_like_it


def test_effects_of_a_program_without_references_from_outside_are_inside():
    own, given = [Var(F3)], [Var(AbstractRef(F3))]
    effects = [frozenset({read_effect}), frozenset({write_effect}), frozenset({"other"})]
    assert program_effects(effects, given) == {read_effect, write_effect, "other"}
    assert program_effects(effects, own) == {inside_effect, "other"}
    assert program_effects([frozenset()], own) == frozenset()
    assert only_droppable(frozenset({inside_effect}))
    assert not only_droppable(frozenset({inside_effect, read_effect}))
    assert not uses_references({"other"}) and uses_references({accumulate_effect})
    assert pickle.loads(pickle.dumps(inside_effect)) == inside_effect != read_effect


def test_an_object_is_read_and_written_until_it_is_freed():
    ref = new()
    assert is_reference(ref) and isinstance(ref, Ref) and not is_reference(1.0)
    ref.write(2.0)
    assert ref.read() == 2.0 and not ref.is_owned
    ref.write(3.0, fresh=True)
    assert ref.is_owned and ref.read() == 3.0 and ref.is_owned
    assert ref.read(shared=True) == 3.0 and not ref.is_owned
    other = copy.copy(ref)
    ref.free()
    assert repr(ref) == "Ref(float32[], freed)" and other.read() == 3.0
    for use in (ref.read, lambda: ref.write(1.0), ref.free):
        with pytest.raises(ValueError, match="used after free_ref"):
            use()


def test_arithmetic_on_a_reference_raises_type_error():
    ref = new()
    for use in (
        lambda: ref + 1,
        lambda: 1 - ref,
        lambda: -ref,
        lambda: ref < 2,
        lambda: float(ref),
    ):
        with pytest.raises(TypeError, match="Read it first"):
            use()
    assert ref == ref and ref != new() and len({ref, new()}) == 2


class _Mapping(Trace):
    is_mapping = True


@pytest.mark.parametrize("kind", [Trace, _Mapping])
def test_a_value_of_a_transformation_is_not_written_outside_of_it(kind):
    ref = new()
    trace = kind(eval_trace)
    tracer = Tracer(trace, ShapedArray((), np.float32))
    with set_trace(trace):
        with pytest.raises(ValueError, match="from outside of a transformed function"):
            ref.write(tracer)
        assert ref.read() == 1.0
        own = new()
        own.write(tracer)
        assert own.read() is tracer
        if kind is Trace:
            ref.write(2.0)  # this does not depend on the transformation
    assert ref.read() == (2.0 if kind is Trace else 1.0)


def test_a_program_does_not_return_a_reference():
    with pytest.raises(ValueError, match="returned a reference of type Ref"):
        trace_to_jaxpr(lambda ref: [ref], [AbstractRef(F3)])
    with pytest.raises(ValueError, match="returned a reference of type Ref"):
        trace_to_jaxpr(lambda: [new()], [])


def test_one_reference_is_not_passed_twice():
    ref = new()
    check_distinct("f", [ref, 1.0, new()])
    with pytest.raises(ValueError, match="f: a reference .* is passed twice"):
        check_distinct("f", [ref, 1.0, ref])


def test_locks_are_taken_in_one_order():
    refs = [new() for _ in range(3)]
    done = []

    def work(mine):
        for _ in range(200):
            with locked(mine):
                for ref in mine:
                    ref.write(ref.read() + 1)
        done.append(True)

    threads = [threading.Thread(target=work, args=(list(o),)) for o in (refs, refs[::-1])]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
    assert len(done) == 2 and [ref.read() for ref in refs] == [401.0] * 3


def test_the_owner_is_the_trace_that_made_it():
    owners = []

    def fun():
        owners.append(new()._owner)
        return []

    trace_to_jaxpr(fun, [])
    assert new()._owner is eval_trace is not owners[0]
