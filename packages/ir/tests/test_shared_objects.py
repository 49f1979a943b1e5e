"""Objects that occur more than once in the arguments of a call that a tool traces."""

import numpy as np
import pytest

from ricci_ir import ArrayCalls, array_call
from ricci_pytree import register_pytree_node_class


@register_pytree_node_class
class Layer:
    """A node with attributes, in the order of their names."""

    def __init__(self, **parts):
        self.__dict__.update(parts)

    def tree_flatten(self):
        return tuple(self.__dict__.values()), tuple(self.__dict__)

    @classmethod
    def tree_unflatten(cls, names, parts):
        return cls(**dict(zip(names, parts, strict=True)))


X = np.ones(2, np.float32)


def copied(model):
    call, arrays = array_call(lambda model: None, (model,), {})
    (model,), _ = call.arguments([x + 1 for x in arrays])
    return model


@pytest.mark.parametrize("container", [list, tuple, lambda x: dict(enumerate(x))])
def test_shared_layers_are_one_object_in_the_copy(container):
    layer = Layer(weight=X)
    model = copied(Layer(layers=container([layer, Layer(weight=X)]), tied=layer))
    assert model.tied is model.layers[0]
    assert model.tied is not layer
    assert model.layers[1] is not model.tied
    np.testing.assert_array_equal(model.tied.weight, X + 1)


def test_layers_shared_within_a_list_and_within_layers():
    inner = Layer(weight=X)
    model = copied([Layer(a=inner), inner, Layer(b={"c": inner})])
    assert model[0].a is model[1] is model[2].b["c"]


def test_equal_layers_and_shared_arrays_stay_apart():
    model = copied(Layer(a=Layer(weight=X), b=Layer(weight=X)))
    assert model.a is not model.b


def test_calls_that_differ_in_what_is_shared_are_traced_apart():
    calls = ArrayCalls("tool", lambda model: model.a is model.b)
    layer = Layer(weight=X)
    for _ in range(2):
        for model, shared in (
            (Layer(a=layer, b=layer), True),
            (Layer(a=layer, b=Layer(weight=X)), False),
        ):
            fun, arrays = calls.of((model,), {})
            assert fun(*arrays) is shared
