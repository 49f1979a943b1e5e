"""Boundaries are plain functions: their code may be replaced, copied and inspected."""

import gc
import inspect
import types
import weakref

import pytest

from ricci_ir import (
    api_boundary,
    boundary,
    is_boundary,
    may_return_operand,
    public,
    unguarded,
    with_constants,
)


def plain(x, y=1, *, z=2):
    return x + y * z


def passing(x, y=1, *, z=2):
    return x + y * z


def closed_over(base):
    def function(x, y=1, *, z=2):
        return base + x + y * z

    return function


FUNCTIONS = [plain, may_return_operand(passing)]


def intercepted(*args, **kwargs):
    return "intercepted", args, kwargs


@pytest.mark.parametrize("make", [api_boundary, public])
@pytest.mark.parametrize("fun", FUNCTIONS)
def test_boundary_of_a_module_s_function_has_no_free_variables(fun, make):
    boundary = make(fun)
    assert type(boundary) is types.FunctionType
    assert boundary.__closure__ is None and boundary.__code__.co_freevars == ()
    assert boundary(1, z=3) == fun(1, z=3)


@pytest.mark.parametrize("fun", FUNCTIONS)
def test_code_of_a_boundary_may_be_replaced_and_restored(fun):
    boundary = api_boundary(fun)
    alias, code = boundary, boundary.__code__
    boundary.__code__ = intercepted.__code__
    assert alias(1, z=3) == ("intercepted", (1,), {"z": 3})
    assert not is_boundary(boundary) and unguarded(boundary) is boundary
    boundary.__code__ = code
    assert alias(1, z=3) == 4 and unguarded(boundary) is fun


@pytest.mark.parametrize("fun", FUNCTIONS)
def test_code_of_a_boundary_makes_a_function_that_is_the_same(fun):
    boundary = api_boundary(fun)
    copy = types.FunctionType(boundary.__code__, boundary.__globals__)
    assert copy(1, z=3) == 4 and unguarded(copy) is fun


@pytest.mark.parametrize("fun", FUNCTIONS)
def test_boundary_has_the_defaults_and_signature_of_its_function(fun):
    boundary = api_boundary(fun)
    assert (boundary.__defaults__, boundary.__kwdefaults__) == ((1,), {"z": 2})
    assert inspect.signature(boundary) == inspect.signature(fun)
    assert inspect.unwrap(boundary) is fun and boundary.__name__ == fun.__name__


def test_boundaries_do_not_share_their_code():
    one, other = api_boundary(plain), api_boundary(passing)
    assert one.__code__ != other.__code__
    one.__code__ = intercepted.__code__
    assert other(1) == 3


@boundary
def template(x):
    operation = "<operation>"
    return operation(x), "<other>"


def test_copies_of_a_template_have_constants_of_their_own_and_no_free_variables():
    negated, absolute = (with_constants(template, operation=f) for f in (lambda x: -x, abs))
    assert (negated(2), absolute(-3)) == ((-2, "<other>"), (3, "<other>"))
    assert negated.__closure__ is None and is_boundary(negated)
    negated.__code__ = intercepted.__code__
    assert (negated(2)[0], absolute(-3)[0]) == ("intercepted", 3)


@pytest.mark.parametrize("mark", [lambda fun: fun, may_return_operand])
def test_boundary_of_a_closure_is_freed_with_an_object_that_refers_to_it(mark):
    class Model:
        pass

    model = Model()
    fun = mark(lambda x, y=1, model=model: (model, x + y))
    model.step = api_boundary(fun, "step")
    assert model.step(1)[1] == 2 and unguarded(model.step) is fun and is_boundary(model.step)
    freed = weakref.ref(model)
    del model, fun
    gc.collect()
    assert freed() is None
