"""The backend that evaluates primitives: none, one, another for a while."""

import numpy as np
import pytest

import ricci_ir as ir
from ricci_ir.traces import _backend


class Named:
    def __init__(self, name):
        self.name = name

    def evaluate(self, primitive, args, params):
        return self.name, primitive.name, args, params

    def array(self, value, aval):
        return self.name, value.dtype, aval


p = ir.Primitive("p", lambda x: x)


def test_without_a_backend_the_error_says_what_to_install():
    with ir.use_backend(_backend._Missing()):
        assert not ir.has_backend()
        with pytest.raises(RuntimeError, match="'p'.*\nInstall and import ricci_xla"):
            p.bind(1.0)


def test_use_backend_restores_the_last_one_even_after_an_error():
    with ir.use_backend(Named("outer")):
        with pytest.raises(KeyError), ir.use_backend(Named("inner")):
            assert p.bind(1.0)[0] == "inner"
            raise KeyError
        assert ir.has_backend() and ir.backend().name == "outer"
        assert p.bind(1.0, n=2) == ("outer", "p", (1.0,), {"n": 2})


def test_as_array_converts_values_to_their_type():
    with ir.use_backend(Named("b")):
        aval = ir.ShapedArray((), np.float32, True)
        assert ir.as_array(2.0) == ("b", np.dtype("float32"), aval)


def test_as_array_leaves_float0_and_tracers_alone():
    zeros = np.zeros(3, ir.float0)
    with ir.use_backend(Named("b")):
        assert ir.as_array(zeros) is zeros
        kept = []
        ir.trace_to_jaxpr(lambda x: kept.append(ir.as_array(x) is x) or [], [ir.get_aval(1.0)])
        assert kept == [True]
