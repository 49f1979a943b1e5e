"""Lowering jaxprs to modules: text, names, calls, regions, attributes; and that it runs."""

import gc
import re

import numpy as np
import pytest

import ricci_ir as ir
import ricci_stablehlo as sh

X = ir.ShapedArray((3,), np.float32)
SCALAR = ir.ShapedArray((), np.float32)
VALUE = np.array([0.5, -1.0, 2.0], np.float32)


def trace(fun, *avals):
    return ir.trace_to_jaxpr(fun, avals or (X,))


def test_text_of_a_module(toy):
    assert sh.lower_jaxpr(trace(lambda x: [toy.mul(toy.sin(x), x)]), "f") == (
        "module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {\n"
        "  func.func public @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {\n"
        "    %0 = stablehlo.sine %arg0 : tensor<3xf32>\n"
        "    %1 = stablehlo.multiply %0, %arg0 : tensor<3xf32>\n"
        "    return %1 : tensor<3xf32>\n"
        "  }\n"
        "}\n"
    )


PROGRAMS = {
    "identity": (lambda t: trace(lambda x: [x]), lambda x: [x]),
    "composed": (lambda t: trace(lambda x: [t.mul(t.sin(x), x)]), lambda x: [np.sin(x) * x]),
    "literal": (lambda t: trace(lambda x: [t.mul(x, 2.0), 3]), lambda x: [2 * x, np.int32(3)]),
    "scalar operand": (lambda t: trace(lambda x: [t.mul(x, np.float32(2))]), lambda x: [2 * x]),
    "no results": (lambda t: trace(lambda x: []), lambda x: []),
    "traced rule": (lambda t: trace(lambda x: [t.square(x)]), lambda x: [x * x]),
    "traced rule of two": (lambda t: trace(lambda x: t.twice(x)), lambda x: [x * x, np.sin(x)]),
    "swap": (lambda t: trace(lambda x: t.pair(x, t.sin(x))), lambda x: [np.sin(x), x]),
    "call": (
        lambda t: trace(lambda x: t.call(trace(lambda y: [t.sin(y), y]), x)),
        lambda x: [np.sin(x), x],
    ),
    "call of nothing": (
        lambda t: trace(lambda x: [*t.call(trace(lambda y: []), x), x]),
        lambda x: [x],
    ),
    "call in call": (
        lambda t: trace(
            lambda x: t.call(trace(lambda y: t.call(trace(lambda z: [t.sin(z)]), y)), x)
        ),
        lambda x: [np.sin(x)],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_compiled_module_computes_the_jaxpr(toy, run, name):
    make, expected = PROGRAMS[name]
    results = run(sh.lower_jaxpr(make(toy), "f"), VALUE)
    assert len(results) == len(expected(VALUE))
    for result, value in zip(results, expected(VALUE), strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-6)


def test_constants_become_leading_arguments(toy, run):
    constant = np.arange(3, dtype=np.float32)
    text = sh.lower_jaxpr(trace(lambda x: [toy.mul(x, constant)]), "f")
    assert "@main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>)" in text
    assert "stablehlo.constant" not in text
    np.testing.assert_array_equal(run(text, constant, VALUE)[0], VALUE * constant)


def test_a_literal_is_written_once(toy):
    text = sh.lower_jaxpr(trace(lambda x: [toy.mul(toy.mul(x, 2.0), 2.0), toy.mul(x, 3.0)]), "f")
    assert text.count("stablehlo.constant") == 2


def test_a_jaxpr_called_twice_is_one_function(toy):
    inner = trace(lambda x: [toy.sin(x)])
    other = trace(lambda x: [toy.mul(x, x)])

    def fun(x):
        for program in (inner, inner, other):
            (x,) = toy.call(program, x, name="g")
        return [x]

    text = sh.lower_jaxpr(trace(fun), "f")
    assert text.count("func.func private @g(") == text.count("func.func private @g_0(") == 1
    assert text.count("call @g(") == 2 and text.count("call @g_0(") == 1


def test_functions_are_cached_by_jaxpr_not_by_its_id(toy, run):
    def rule(x, n):
        inner = trace(lambda y: [toy.mul(y, float(n))])
        (result,) = toy.call(inner, x, name="g")
        return result

    p = toy.primitive("scale", lambda x, n: x, sh.traced(rule))

    def fun(x):
        for n in range(1, 6):
            x = p.bind(x, n=n)
        return [x]

    gc.collect()
    (result,) = run(sh.lower_jaxpr(trace(fun), "f"), VALUE)
    np.testing.assert_allclose(result, VALUE * 120)


NAMES = [
    (["main", "f", "f", "f"], ["main", "f", "f_0", "f_1"]),
    (["f_0", "f", "f", "f"], ["f_0", "f", "f_1", "f_2"]),
    (["<lambda>", "a b", "3d", "", "größe"], ["_lambda_", "a_b", "_3d", "_", "gr__e"]),
]


@pytest.mark.parametrize(("names", "symbols"), NAMES)
def test_symbols_are_unique_and_valid(names, symbols):
    module = sh.Module("m", "cpu", {})
    found = [module.unique_name(name) for name in names]
    assert found == symbols and len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("name", "symbol"),
    [("f", "jit_f"), ("<lambda>", "jit__lambda"), ("f__", "jit_f"), ("a b", "jit_a_b")],
)
def test_a_module_is_named_as_in_jax(name, symbol):
    assert sh.lower_jaxpr(trace(lambda x: [x]), name).startswith(f"module @{symbol} attributes")


@pytest.mark.parametrize("name", ["main", "<lambda>", "größe", "", "a.b c", "3"])
def test_names_of_any_characters_become_valid_symbols(toy, run, name):
    jaxpr = trace(lambda x: toy.call(trace(lambda y: [toy.sin(y)]), x, name=name))
    (result,) = run(sh.lower_jaxpr(jaxpr, name), VALUE)
    np.testing.assert_allclose(result, np.sin(VALUE), rtol=1e-6)


def test_aliases_and_donors_become_attributes(toy, run):
    jaxpr = trace(lambda x, y: [toy.sin(y), x], X, X)
    text = sh.lower_jaxpr(jaxpr, "f", aliases={1: 0}, donors=[0])
    assert "%arg0: tensor<3xf32> {jax.buffer_donor = true}" in text
    assert "%arg1: tensor<3xf32> {tf.aliasing_output = 0 : i32}" in text
    assert len(run(text, VALUE, VALUE)) == 2


def test_argument_and_result_attributes_are_written(toy, run):
    text = sh.lower_jaxpr(
        trace(lambda x: [toy.sin(x), x]),
        "f",
        result_info=['result["a"]', ""],
        arg_attributes=[['mhlo.layout_mode = "default"']],
    )
    assert '(%arg0: tensor<3xf32> {mhlo.layout_mode = "default"})' in text
    assert '{jax.result_info = "result[\\22a\\22]"}' in text
    assert len(run(text, VALUE)) == 2


def test_replicas_and_partitions_become_module_attributes(toy):
    text = sh.lower_jaxpr(trace(lambda x: [x]), "f", num_replicas=2, num_partitions=4)
    assert "{mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32}" in text


def _sum_lower(ctx, x):
    out = ctx.out
    zero = ctx.constant(0, out)
    body = ctx.region([out, out], lambda inner, a, b: [inner.emit("stablehlo.add", [a, b], out)])
    return ctx.generic("stablehlo.reduce", [x, zero], [out], "dimensions = array<i64: 0>", [body])[
        0
    ]


def test_a_region_is_written_with_its_block_arguments(toy, run):
    p = toy.primitive("sum", lambda x: x.update(shape=()), _sum_lower)
    (result,) = run(sh.lower_jaxpr(trace(lambda x: [p.bind(x)]), "f"), VALUE)
    np.testing.assert_allclose(result, VALUE.sum())


def test_generic_operations_have_several_results(toy, run):
    def lower(ctx, x, y):
        body = ctx.region(
            [SCALAR, SCALAR, SCALAR, SCALAR],
            lambda inner, a, b, c, d: [
                inner.emit("stablehlo.compare LT,", [a, b], ir.ShapedArray((), bool))
            ],
        )
        attributes = "dimension = 0 : i64, is_stable = true"
        return ctx.generic("stablehlo.sort", [x, y], ctx.outs, attributes, [body])

    p = toy.primitive("sort", lambda x, y: [x, y], lower, multiple_results=True)
    text = sh.lower_jaxpr(trace(lambda x, y: p.bind(x, y), X, X), "f")
    keys = np.array([2, 0, 1], np.float32)
    results = run(text, keys, VALUE)
    np.testing.assert_array_equal(results[0], [0, 1, 2])
    np.testing.assert_array_equal(results[1], VALUE[[1, 2, 0]])


def test_custom_calls_have_their_api_version(toy):
    def lower(ctx, x):
        return ctx.custom_call(
            "my_kernel",
            [x],
            [ctx.out],
            backend_config={"n": "3 : i64"},
            has_side_effect=True,
            operand_layouts=[(0,)],
            result_layouts=[(0,)],
            output_operand_aliases={0: 0},
        )[0]

    p = toy.primitive("custom", lambda x: x, lower)
    text = sh.lower_jaxpr(trace(lambda x: [p.bind(x)]), "f")
    for part in (
        'call_target_name = "my_kernel"',
        "api_version = 4 : i32",
        "backend_config = {n = 3 : i64}",
        "has_side_effect = true",
        "operand_layouts = [dense<[0]> : tensor<1xindex>]",
        "operand_index = 0",
    ):
        assert part in text


def test_a_primitive_without_a_rule_raises():
    p = ir.Primitive("p", lambda x: x)
    with pytest.raises(NotImplementedError, match="'p' has no lower rule"):
        sh.lower_jaxpr(trace(lambda x: [p.bind(x)]), "f")


def test_unsupported_rules_raise_with_their_reason(toy):
    p = toy.primitive("p", lambda x: x, ir.unsupported("p is for eyes only"))
    with pytest.raises(NotImplementedError, match="lower of p: p is for eyes only"):
        sh.lower_jaxpr(trace(lambda x: [p.bind(x)]), "f")


def test_locations_name_primitives_and_scopes(toy):
    def fun(x):
        with ir.named_scope("part"):
            return [toy.mul(toy.sin(x), x)]

    jaxpr = trace(fun)
    text = sh.lower_jaxpr(jaxpr, "f", locations=True)
    assert '#loc0 = loc("jit(f)/part/sin")' in text
    assert '#loc1 = loc("jit(f)/part/mul")' in text
    assert text.count("loc(#loc") == 2
    assert sh.without_locations(text) == sh.lower_jaxpr(jaxpr, "f")


def test_embed_constants_writes_constants_into_the_text(toy):
    constant = np.arange(3, dtype=np.float32)
    jaxpr = trace(lambda x: [toy.mul(x, constant)])
    text = sh.lower_jaxpr(jaxpr, "f", kind="xla_computation", embed_constants=True)
    assert text.startswith("module @xla_computation_f ")
    assert ("%arg1" in text, "dense<" in text) == (False, True)


def test_source_locations_have_the_line_of_the_users_code(toy):
    shared = ir.trace_to_jaxpr(lambda x: [toy.square(x)], [X], origin=ir.no_origin)
    call = toy.primitive(
        "shared",
        lambda x: [x],
        lambda ctx, x: ctx.call(shared, "shared", [x]),
        multiple_results=True,
    )

    def fun(x):
        (y,) = call.bind(toy.sin(x))
        return call.bind(y)

    text = sh.lower_jaxpr(trace(fun), "f", locations="sources", arg_names=["params['w']"])
    assert "#loc0 = loc(\"params['w']\")" in text
    names = re.findall(r'^#loc\d+ = loc\("(.*?)"\("(.*?)":(\d+):\d+\)\)', text, re.MULTILINE)
    first = fun.__code__.co_firstlineno
    assert {(name, int(line) - first) for name, _, line in names} == {
        ("jit(f)/sin", 1),
        ("jit(f)/shared", 1),
        ("jit(f)/shared", 2),
    }
    assert {file for _, file, _ in names} == {__file__}
    assert "call @" not in text


def test_without_locations_removes_locations_of_arguments(toy):
    jaxpr = trace(lambda x: [toy.sin(x)])
    text = sh.lower_jaxpr(jaxpr, "f", locations="sources", arg_names=["x"])
    assert sh.without_locations(text) == sh.lower_jaxpr(jaxpr, "f")
