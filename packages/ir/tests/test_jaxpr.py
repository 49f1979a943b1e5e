"""Jaxprs as data: tracing and evaluating are inverse, constants, derived forms, copies."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import ricci_ir as ir

X = ir.ShapedArray((3,), np.float32)
SCALAR = ir.ShapedArray((), np.float32)
C = np.arange(3, dtype=np.float32)


def _called(toy, x):
    inner = ir.make_jaxpr(lambda y: toy.mul(toy.sin(y), y))(x)
    return toy.call(inner, x)[0]


FUNCTIONS = {
    "one": lambda toy, x: toy.sin(x),
    "composed": lambda toy, x: toy.mul(toy.sin(toy.sin(x)), x),
    "constant": lambda toy, x: toy.mul(x, C),
    "result is the argument": lambda toy, x: x,
    "several results": lambda toy, x: toy.split(x, size=1)[1],
    "call": _called,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_evaluating_the_jaxpr_of_a_function_is_the_function(toy, name):
    x = np.array([0.5, -1.0, 2.0], np.float32)
    jaxpr = ir.make_jaxpr(lambda x: FUNCTIONS[name](toy, x))(x)
    ir.check_jaxpr(jaxpr)
    expected = FUNCTIONS[name](toy, x)
    np.testing.assert_array_equal(ir.jaxpr_as_fun(jaxpr, x)[0], expected)
    np.testing.assert_array_equal(ir.eval_jaxpr(jaxpr, jaxpr.consts, x)[0], expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tracing_the_evaluation_of_a_jaxpr_gives_it_back(toy, name):
    jaxpr = ir.make_jaxpr(lambda x: FUNCTIONS[name](toy, x))(C)
    again = ir.make_jaxpr(lambda x: ir.jaxpr_as_fun(jaxpr, x))(C)
    assert str(again) == str(jaxpr)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_interpreting_by_no_rule_is_evaluating(toy, name):
    jaxpr = ir.make_jaxpr(lambda x: FUNCTIONS[name](toy, x))(C)
    expected = ir.jaxpr_as_fun(jaxpr, C)
    np.testing.assert_array_equal(ir.interpret(jaxpr, [C], lambda *_: None), expected)
    again = ir.make_jaxpr(lambda x: ir.interpret(jaxpr, [x], lambda *_: None))(C)
    assert str(again) == str(jaxpr)


def test_interpreters_apply_equations_with_their_sources_scopes_and_settings(toy):
    seen = []

    def apply(eqn, operands):
        context = ir.context
        seen.append((eqn.primitive.name, context.name_stack, ir.enable_x64.value, context.origin))
        return operands[:1] if eqn.primitive.name == "sin" else None

    def fun(x):
        with ir.named_scope("layer"), ir.enable_x64(True):
            x = toy.sin(x)
        return toy.mul(x, x)

    jaxpr = ir.make_jaxpr(fun)(C)
    outside = ir.context.name_stack, ir.context.origin
    (result,) = ir.interpret(jaxpr, [C], apply)
    np.testing.assert_array_equal(result, C * C)
    (sin, scope, wide, line), (mul, no_scope, narrow, next_line) = seen
    assert (sin, scope, wide, mul, no_scope, narrow) == ("sin", ("layer",), True, "mul", (), False)
    assert line != next_line
    assert (ir.context.name_stack, ir.context.origin) == outside
    with pytest.raises(ZeroDivisionError):
        ir.interpret(jaxpr, [C], lambda *_: 1 / 0)
    assert (ir.context.name_stack, ir.context.origin) == outside


def test_a_constant_used_twice_is_one_constant(toy):
    other = C.copy()
    jaxpr = ir.make_jaxpr(lambda x: toy.mul(toy.mul(toy.mul(x, C), C), other))(C)
    assert [c is C for c in jaxpr.consts] == [True, False]
    assert jaxpr.num_consts == len(jaxpr.constvars) == 2


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array(2, np.float32), np.int64(2)])
def test_scalars_become_literals(toy, value):
    jaxpr = ir.trace_to_jaxpr(lambda x: [toy.mul(x, value), value], [SCALAR])
    assert jaxpr.consts == []
    for atom in (jaxpr.eqns[0].invars[1], jaxpr.outvars[1]):
        assert type(atom) is ir.Literal and atom.aval is ir.get_aval(value)


def test_unused_results_are_dropped(toy):
    jaxpr = ir.make_jaxpr(lambda x: toy.split(x, size=1)[1])(C)
    assert [type(v) for v in jaxpr.eqns[0].outvars] == [ir.DropVar, ir.Var]


def test_effects_reach_the_jaxpr_through_calls(toy):
    inner = ir.make_jaxpr(lambda x: toy.show(x))(C)
    assert inner.effects == frozenset({toy.effect})
    assert ir.make_jaxpr(toy.sin)(C).effects == ir.no_effects
    assert ir.join_effects([inner.effects, ir.no_effects]) == inner.effects


def test_convert_constvars(toy):
    jaxpr = ir.make_jaxpr(lambda x: toy.mul(x, C))(C)
    closed = ir.convert_constvars(jaxpr)
    assert closed.consts == [] and closed.invars == jaxpr.all_invars
    assert ir.convert_constvars(jaxpr) is closed
    assert ir.convert_constvars(closed) is closed
    np.testing.assert_array_equal(ir.jaxpr_as_fun(closed, C, C)[0], C * C)


def test_derived_forms_are_built_once_and_go_with_the_jaxpr(toy):
    jaxpr, built = ir.make_jaxpr(toy.sin)(C), []
    for _ in range(2):
        assert jaxpr.derived("key", lambda: built.append(1) or "form") == "form"
    assert built == [1]
    assert jaxpr.replace().derived("key", lambda: "new") == "new"
    jaxpr.clear_derived()
    assert jaxpr.derived("key", lambda: "rebuilt") == "rebuilt"


def test_programs_inside(toy):
    inner = ir.make_jaxpr(toy.sin)(C)
    jaxpr = ir.make_jaxpr(lambda x: toy.call(inner, toy.both(x, inner, inner)))(C)
    assert list(ir.subjaxprs(jaxpr)) == [inner, inner, inner]


def test_a_jaxpr_refuses_to_be_pickled(toy):
    with pytest.raises(TypeError, match="export"):
        pickle.dumps(ir.make_jaxpr(toy.sin)(C))


def test_make_jaxpr_names_arguments_and_keeps_trees():
    jaxpr = ir.make_jaxpr(lambda x, *, y: {"a": (y, x["k"]), "b": None})({"k": 1.0}, y=C)
    assert jaxpr.in_avals == [SCALAR.update(weak_type=True), X]
    assert jaxpr.debug_info.arg_names == ("x['k']", "y")
    assert jaxpr.outvars == [jaxpr.invars[1], jaxpr.invars[0]]


class Duck:
    shape = (3,)
    dtype = "float32"


@pytest.mark.parametrize("argument", [C, Duck(), ir.ShapeDtypeStruct((3,), np.float64)])
def test_anything_with_shape_and_dtype_can_be_traced(argument):
    assert ir.make_jaxpr(lambda x: x)(argument).in_avals == [X]
    assert ir.eval_shape(lambda x: [x], argument) == [ir.ShapeDtypeStruct((3,), np.float32)]


def test_results_that_are_python_scalars_are_weak_literals():
    jaxpr, shapes = ir.make_jaxpr(lambda: (1, 2.0, np.float32(3)), return_shape=True)()
    assert str(jaxpr) == "{ lambda ; . let  in (1:i32[], 2.0:f32[], 3.0:f32[]) }"
    assert [s.weak_type for s in shapes] == [True, True, False]


@pytest.mark.parametrize("static_argnums", [1, (1,), [-1], (np.int64(1),)])
def test_static_arguments_reach_the_function_as_they_are(toy, static_argnums):
    def fun(x, n, y):
        assert n == 2
        return toy.mul(x, y)

    make = ir.make_jaxpr(lambda x, y, n: fun(x, n, y), static_argnums=2)
    assert make.__name__ == "make_jaxpr(<lambda>)"
    assert len(make(C, C, 2).invars) == 2
    power = ir.make_jaxpr(lambda x, n: [x] * n, static_argnums=static_argnums)(C, 2)
    assert len(power.outvars) == 2


def test_axis_env_brings_axes_into_scope():
    jaxpr = ir.make_jaxpr(lambda x: ir.axis_size("i"), axis_env=[("i", 4)])(1.0)
    assert jaxpr.outvars[0].val == 4


ERRORS = {
    "argument": (
        lambda: ir.make_jaxpr(lambda x, y: x)(1.0, {"w": ["a"]}),
        TypeError,
        r"argument y\['w'\]\[0\] of <lambda> .* <class 'str'>",
    ),
    "argument of eval_shape": (
        lambda: ir.eval_shape(lambda x: x, object()),
        TypeError,
        "argument x of <lambda>",
    ),
    "after a static argument": (
        lambda: ir.make_jaxpr(lambda n, x: x, static_argnums=0)(1, "a"),
        TypeError,
        "argument x of <lambda>",
    ),
    "result": (
        lambda: ir.make_jaxpr(lambda x: (x, {"b": "text"}))(1.0),
        TypeError,
        r"returned a value of type <class 'str'> at output\[1\]\['b'\]",
    ),
    "static position": (
        lambda: ir.make_jaxpr(lambda x: x, static_argnums=5)(1.0),
        ValueError,
        r"static_argnums=\(5,\) is out of range: <lambda> takes 1 positional",
    ),
    "static value": (
        lambda: ir.make_jaxpr(lambda x, n: x, static_argnums=1)(1.0, [3]),
        ValueError,
        "static argument 1 of <lambda> must be hashable.*list",
    ),
    "not a function": (lambda: ir.make_jaxpr(3), TypeError, "expected a function, got 3"),
    "eval_shape of no function": (lambda: ir.eval_shape(3, 1), TypeError, "expected a function"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message) as caught:
        call()
    assert len(str(caught.value).split("\n")) <= 12
    assert ir.context.trace is ir.eval_trace


def test_shape_dtype_struct_is_a_value():
    s = ir.ShapeDtypeStruct([2, 3], "float32")
    assert s == ir.ShapeDtypeStruct((2, 3), np.float32) and hash(s) == hash(s.update())
    assert (s.ndim, s.size, len(s)) == (2, 6, 2)
    assert s != s.update(weak_type=True) and s != s.update(shape=(3, 2)) and s != (2, 3)
    assert pickle.loads(pickle.dumps(s)) == s
    with pytest.raises(RuntimeError, match="immutable: shape"):
        s.shape = (1,)
    with pytest.raises(AttributeError, match="'other'"):
        s.other = 1
    with pytest.raises(ValueError, match="name the dtype"):
        ir.ShapeDtypeStruct((1,), None)


STRUCTS = [
    (((2, 3), "float32", {}), "ShapeDtypeStruct(shape=(2, 3), dtype=float32)"),
    (((), int, {"weak_type": True}), "ShapeDtypeStruct(shape=(), dtype=int64, weak_type=True)"),
    (
        ((2,), ir.bfloat16, {"is_ref": True}),
        "ShapeDtypeStruct(shape=(2,), dtype=bfloat16, is_ref=True)",
    ),
    (((), "int8", {"sharding": "S"}), "ShapeDtypeStruct(shape=(), dtype=int8, sharding=S)"),
]


@pytest.mark.parametrize(("args", "text"), STRUCTS)
def test_shape_dtype_struct_prints_as_in_jax(args, text):
    shape, dtype, options = args
    assert repr(ir.ShapeDtypeStruct(shape, dtype, **options)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "ShapeDtypeStruct(shape=(), dtype=float32, weak_type=True)"),
        (np.ones(3), "ShapeDtypeStruct(shape=(3,), dtype=float32)"),
        (ir.ShapeDtypeStruct((2,), "int8"), "ShapeDtypeStruct(shape=(2,), dtype=int8)"),
    ],
)
def test_shape_dtype_struct_like(value, text):
    assert repr(ir.ShapeDtypeStruct.like(value)) == text


def test_the_package_imports_no_compiler():
    code = "import sys, ricci_ir; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("argnums", [1, -1])
@pytest.mark.parametrize(("args", "kwargs", "n"), [((), {}, 3), ((2,), {}, 2), ((), {"n": 4}, 4)])
def test_static_arguments_are_those_of_the_signature(argnums, args, kwargs, n):
    """Also where a call leaves them out or passes them by name."""
    seen = []

    def record(x, n=3):
        seen.append(n)
        return x

    jaxpr = ir.make_jaxpr(record, static_argnums=argnums)(1.0, *args, **kwargs)
    assert seen == [n] and len(jaxpr.invars) == 1
