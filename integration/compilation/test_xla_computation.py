"""`xla_computation`: the HLO of a function before XLA optimizes it."""

import re
import types

import numpy as np
import pytest

import ricci.numpy as jnp
from ricci import lax, xla_computation


def text(computation):
    return computation.as_hlo_text()


def test_instructions_and_name():
    def f(x):
        return jnp.sin(jnp.cos(x))

    found = text(xla_computation(f)(3.0))
    assert found.startswith("HloModule xla_computation_f,")
    assert re.findall(r" (\w+)\(", found)[-3:] == ["cosine", "sine", "tuple"]


def test_anything_with_shape_and_dtype_stands_for_an_array():
    scalar = types.SimpleNamespace(shape=(), dtype=np.dtype(np.float32))
    f = jnp.sin
    assert text(xla_computation(f)(scalar)) == text(xla_computation(f)(3.0))


def groups(computation):
    return re.findall(r"replica_groups=(\{\{.*?\}\})", text(computation))


def test_one_axis():
    c = xla_computation(lambda x: x - lax.psum(x, "i"), axis_env=[("i", 4)])(2)
    assert groups(c) == ["{{0,1,2,3}}"]
    assert "s32[] subtract(" in text(c)


def test_two_axes():
    def g(x):
        rowsum = lax.psum(x, "i")
        colsum = lax.psum(x, "j")
        allsum = lax.psum(x, ("i", "j"))
        return rowsum, colsum, allsum

    c = xla_computation(g, axis_env=[("i", 4), ("j", 2)])(5.0)
    assert groups(c) == [
        "{{0,2,4,6},{1,3,5,7}}",
        "{{0,1},{2,3},{4,5},{6,7}}",
        "{{0,1,2,3,4,5,6,7}}",
    ]


@pytest.mark.parametrize(
    ("collective", "operation"), [(lax.pmax, "maximum"), (lax.pmin, "minimum"), (lax.pmean, "add")]
)
def test_other_collectives(collective, operation):
    c = xla_computation(lambda x: collective(x, "i"), axis_env=[("i", 2)])(1.0)
    assert groups(c) == ["{{0,1}}"]
    assert f"{operation}(" in text(c)


def test_unknown_axis():
    with pytest.raises(NameError, match="'k'"):
        xla_computation(lambda x: lax.psum(x, "k"), axis_env=[("i", 2)])(1.0)


def parameters(computation):
    return len(computation.program_shape().parameter_shapes())


@pytest.mark.parametrize(
    ("count", "tuple_args", "expected"),
    [(3, False, 3), (3, True, 1), (3, None, 3), (101, None, 1), (101, False, 101)],
)
def test_tuple_args(count, tuple_args, expected):
    c = xla_computation(lambda xs: sum(xs), tuple_args=tuple_args)([1.0] * count)
    assert parameters(c) == expected


def test_return_shape():
    c, shapes = xla_computation(lambda x: {"a": x @ x}, return_shape=True)(jnp.ones((2, 2)))
    assert (shapes["a"].shape, shapes["a"].dtype) == ((2, 2), "float32")
    assert "dot(" in text(c)


def test_static_argnums():
    c = xla_computation(lambda x, n: x * n, static_argnums=1)(jnp.ones(3), 7)
    assert (parameters(c), "constant(7)" in text(c)) == (1, True)


def test_donate_argnums():
    c = xla_computation(lambda x, y: x + y, donate_argnums=1)(1.0, 2.0)
    assert "buffer_donor={ (1, {}) }" in text(c)


def test_constants_are_part_of_the_computation():
    table = np.arange(300, dtype=np.float32)
    c = xla_computation(lambda x: x * jnp.asarray(table))(jnp.ones(300))
    assert parameters(c) == 1


@pytest.mark.parametrize("value", [None, True, False])
def test_instantiate_const_outputs_has_no_effect(value):
    f = lambda x: (x, 1.0)
    assert text(xla_computation(f, instantiate_const_outputs=value)(1.0)) == text(
        xla_computation(f)(1.0)
    )


@pytest.mark.parametrize("name", ["in_parts", "out_parts"])
def test_parts_are_refused(name):
    with pytest.raises(NotImplementedError, match="in_shardings"):
        xla_computation(lambda x: x, **{name: 2})


def test_other_forms():
    c = xla_computation(lambda x: -x)(1.0)
    assert b"negate" in c.as_serialized_hlo_module_proto()
    assert c.as_hlo_dot_graph().startswith("digraph")


def test_no_array():
    with pytest.raises(TypeError, match="argument x of f"):

        def f(x):
            return x

        xla_computation(f)("abc")
