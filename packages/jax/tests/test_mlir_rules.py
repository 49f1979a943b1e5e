"""Lowering rules of libraries that build MLIR objects with ``jax.interpreters.mlir``."""

import numpy as np
import pytest
from jaxlib.mlir.dialects import func, stablehlo

import jax
import jax.numpy as jnp
from jax._src import effects
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import mlir

VECTOR = ShapedArray((3,), np.float32)
X = np.arange(3, dtype=np.float32)


def primitive_with(rule, several=False) -> Primitive:
    """A primitive whose results have the types of its operands."""
    primitive = Primitive("library_operation")
    primitive.multiple_results = several
    primitive.def_abstract_eval(lambda *xs: list(xs) if several else xs[0])
    mlir.register_lowering(primitive, rule)
    return primitive


def inside_a_rule(look):
    """The result of ``look(ctx, x)``, called by a rule."""
    found = []

    def rule(ctx, x):
        found.append(look(ctx, x))
        return [x]

    jax.jit(primitive_with(rule).bind).lower(X)
    return found[0]


NEGATIONS = {
    "a value": lambda ctx, x: stablehlo.negate(x),
    "values": lambda ctx, x: [stablehlo.negate(x)],
    "an operation": lambda ctx, x: stablehlo.NegOp(x),
    "results of an operation": lambda ctx, x: stablehlo.NegOp(x).results,
    "nested values": lambda ctx, x: ((stablehlo.negate(x),),),
}


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("form", NEGATIONS)
def test_forms_of_results(form, several):
    result = jax.jit(primitive_with(NEGATIONS[form], several).bind)(X)
    np.testing.assert_array_equal(result[0] if several else result, -X)


def half(ctx, x):
    return stablehlo.convert(mlir.ir.Type.parse("tensor<3xf16>"), x)


WRONG = {
    "too many values": (lambda ctx, x: [x, x], ValueError, "2 values; the primitive has 1"),
    "another type": (half, ValueError, "tensor<3xf16> as result 0, whose type is tensor<3xf32>"),
    "no value": (lambda ctx, x: [3], TypeError, "returned 3, which is not an MLIR value"),
    "invalid operations": (
        lambda ctx, x: [x, mlir.ir.Operation.create("stablehlo.add", [x.type], [x, half(ctx, x)])][
            :1
        ],
        ValueError,
        "'library_operation' built invalid operations",
    ),
    "an error of its own": (lambda ctx, x: 1 / 0, ZeroDivisionError, "division"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_of_rules_are_explained(case):
    rule, error, message = WRONG[case]
    with pytest.raises(error, match=message):
        jax.jit(primitive_with(rule).bind)(X)
    np.testing.assert_array_equal(jax.jit(lambda x: -x)(X), -X)


TYPES = {
    "bool": "i1",
    "int4": "i4",
    "int32": "i32",
    "uint8": "ui8",
    "float16": "f16",
    "bfloat16": "bf16",
    "float64": "f64",
    "complex64": "complex<f32>",
    "float8_e4m3fn": "f8E4M3FN",
}


@pytest.mark.parametrize("dtype", TYPES)
def test_types_of_elements_and_arrays(dtype):
    element, array = inside_a_rule(
        lambda ctx, x: (
            mlir.dtype_to_ir_type(jnp.dtype(dtype)),
            mlir.aval_to_ir_type(ctx.module_context, ShapedArray((2, 3), jnp.dtype(dtype))),
        )
    )
    assert (str(element), str(array)) == (TYPES[dtype], f"tensor<2x3x{TYPES[dtype]}>")


def test_types_of_keys_tokens_and_classes_of_a_library():
    class Pair(jax.core.AbstractValue): ...

    mlir.ir_type_handlers[Pair] = lambda ctx, aval: (mlir.token_type(), mlir.token_type())
    try:
        key, pair = inside_a_rule(
            lambda ctx, x: [
                mlir.aval_to_ir_types(ctx.module_context, aval)
                for aval in (jax.typeof(jax.random.key(0)), Pair())
            ]
        )
    finally:
        del mlir.ir_type_handlers[Pair]
    assert [[str(t) for t in types] for types in (key, pair)] == [
        ["tensor<2xui32>"],
        ["!stablehlo.token"] * 2,
    ]


CONSTANTS = [
    np.int8(1),
    np.zeros((2, 0), np.float32),
    np.ones((3, 3)),  # as wide as NumPy has it
    np.array([True, False]),
    np.float32([[1, 2], [3, 4]])[:, :1],
    np.complex64([1 + 2j, 3]),
    np.arange(40),
    jnp.arange(3),
    2.5,
]


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("index", range(len(CONSTANTS)))
def test_constants(index, x64):
    value = CONSTANTS[index]
    expected = np.asarray(value, np.float32) if isinstance(value, float) and not x64 else value
    expected = np.asarray(expected)

    def rule(ctx, x):
        constant = mlir.ir_constant(value)
        out = mlir.aval_to_ir_type(ctx.module_context, ctx.avals_out[0])
        return stablehlo.convert(out, constant)

    primitive = Primitive("constant")
    primitive.def_abstract_eval(lambda x: ShapedArray(expected.shape, jnp.complex64))
    mlir.register_lowering(primitive, rule)
    with jax.enable_x64(x64):
        text = jax.jit(primitive.bind).lower(X).as_text()
        np.testing.assert_array_equal(jax.jit(primitive.bind)(X), expected)
    kinds = {"float64": "f64", "int64": "i64"}
    assert kinds.get(expected.dtype.name, "constant") in text


def test_constants_of_classes_of_a_library():
    class Seven:
        pass

    class Derived(Seven):
        pass

    mlir.register_constant_handler(Seven, lambda val, aval: mlir.ir_constant(np.float32(7)))
    found = inside_a_rule(lambda ctx, x: [str(c) for c in mlir.ir_constants(Derived())])
    assert "7.0" in found[0]
    with pytest.raises(TypeError, match="not a valid array type"):
        inside_a_rule(lambda ctx, x: mlir.ir_constant("text"))


ATTRIBUTES = [
    (1, "1 : i64"),
    (1.0, "1.000000e+00 : f64"),
    (True, "true"),
    ("s", '"s"'),
    (b"s", '"s"'),
    ((1, 2.0), "[1, 2.000000e+00]"),
    ({"a": 1}, "{a = 1 : i64}"),
    (np.int32(1), "1 : i32"),
    (np.arange(3), "dense<[0, 1, 2]> : tensor<3xi64>"),
]


@pytest.mark.parametrize(("value", "expected"), ATTRIBUTES)
def test_attributes(value, expected):
    with mlir.make_ir_context():
        assert str(mlir.ir_attribute(value)) == expected


def test_attributes_of_integers():
    with mlir.make_ir_context():
        assert [str(mlir.i32_attr(1)), str(mlir.i64_attr(2))] == ["1 : i32", "2 : i64"]
        assert str(mlir.dense_int_array([1, 2])) == "array<i64: 1, 2>"
        assert str(mlir.dense_int_elements([])) == "dense<> : tensor<0xi64>"
    with pytest.raises(TypeError, match="NoneType cannot be an attribute"):
        mlir.ir_attribute(None)


def test_several_values_for_one():
    def look(ctx, x):
        flat = mlir.flatten_ir_values([x, (x, x)])
        types = [x.type, (x.type, x.type)]
        with pytest.raises(ValueError, match="2 values for 3 types"):
            mlir.unflatten_ir_values_like_types(flat[:2], types)
        again = mlir.unflatten_ir_values_like_types(flat, types)
        return len(flat), [type(y) is tuple for y in again], len(mlir.flatten_ir_types(types))

    assert inside_a_rule(look) == (3, [False, True], 3)


def test_a_shape_as_a_value():
    def rule(ctx, x):
        size = mlir.ir_constant(np.int32(3))
        shape = mlir.shape_tensor(ctx.module_context, [1, size])
        out = mlir.ir.Type.parse("tensor<1x3xf32>")
        return stablehlo.reshape(
            x.type, stablehlo.dynamic_broadcast_in_dim(out, x, shape, mlir.dense_int_array([1]))
        )

    np.testing.assert_array_equal(jax.jit(primitive_with(rule).bind)(X), X)
    empty = inside_a_rule(lambda ctx, x: str(mlir.shape_tensor(ctx.module_context, []).type))
    assert empty == "tensor<0xi32>"


PAIR = jax.make_jaxpr(lambda x: (jnp.sin(x), x * 2))(X)


def helper(ctx, x):
    """Calls a function of the module itself."""
    function = mlir.lower_jaxpr_to_fun(
        ctx.module_context, "helper", PAIR, [], num_const_args=0, in_avals=[VECTOR], out_avals=[]
    )
    name = mlir.ir.FlatSymbolRefAttr.get(function.name.value)
    return func.CallOp(function.type.results, name, mlir.flatten_ir_values([x])).results[1]


def subcomputation(ctx, x):
    options = {"dim_var_values": [], "const_lowering": {}, "outer_traceback": None}
    results, tokens = mlir.jaxpr_subcomp(
        ctx.module_context, PAIR, ctx.name_stack, mlir.TokenSet(), [], x, **options
    )
    assert not tokens.items()
    return results[1]


def own_function(ctx, x):
    """Builds a function in the module, with a name that the program has as well."""
    with mlir.ir.InsertionPoint(ctx.module_context.module.body):
        function = func.FuncOp("double", ([x.type], [x.type]), visibility="private")
        with mlir.ir.InsertionPoint(function.add_entry_block()):
            (y,) = function.arguments
            func.ReturnOp([stablehlo.add(y, y)])
    return func.CallOp([x.type], mlir.ir.FlatSymbolRefAttr.get("double"), [x])


DOUBLES = {
    "a function of a program": helper,
    "a program": subcomputation,
    "a call of a program": lambda ctx, x: mlir.core_call_lowering(
        ctx, x, name="f", call_jaxpr=PAIR
    )[1],
    "a traced function": lambda ctx, x: mlir.lower_fun(lambda x: [x * 2])(ctx, x),
    "a traced function of other types": lambda ctx, x: mlir.lower_fun(lambda x, y: [x + y])(
        ctx.replace(avals_in=[VECTOR] * 2), x, x
    ),
    "its own function": own_function,
}


@pytest.mark.parametrize("case", DOUBLES)
def test_rules_that_call_functions(case):
    primitive = primitive_with(DOUBLES[case])

    @jax.jit
    def double(x):
        return x * 2

    fun = lambda x: double(primitive.bind(primitive.bind(x) + 1))
    for transform in (jax.jit, lambda f: jax.jit(jax.jit(f))):
        np.testing.assert_array_equal(transform(fun)(X), 2 * (2 * (2 * X + 1)))


def test_a_jaxpr_with_effects_is_not_lowered_to_a_plain_function():
    refused = r"\{Orders\}.*jitted function"
    with pytest.raises(NotImplementedError, match=refused):
        inside_a_rule(
            lambda ctx, x: mlir.lower_jaxpr_to_fun(ctx.module_context, "f", PAIR, [make_effect()])
        )


def make_effect():
    """An effect that happens in order."""

    class Orders(effects.Effect):
        def __str__(self):
            return "Orders"

    for places in (
        effects.lowerable_effects,
        effects.ordered_effects,
        effects.control_flow_allowed_effects,
    ):
        places.add_type(Orders)
    return Orders()


def with_effect(effect, rule) -> Primitive:
    primitive = Primitive("ordered_operation")
    primitive.def_effectful_abstract_eval(lambda x: (x, {effect}))
    mlir.register_lowering(primitive, rule)
    return primitive


def passing_tokens(effect, seen):
    def rule(ctx, x):
        seen.append([e for e, _ in ctx.tokens_in.items()])
        after = stablehlo.after_all([ctx.tokens_in.get(effect)])
        ctx.set_tokens_out(mlir.TokenSet({effect: after}))
        return [stablehlo.negate(x)]

    return rule


ORDERED = {
    "once": (lambda f: f, 1),
    "twice": (lambda f: lambda x: f(f(x)), 2),
    "in a loop": (lambda f: lambda x: jax.lax.fori_loop(0, 3, lambda i, c: f(c), x), 3),
    "in a jitted function": (lambda f: jax.jit(f), 1),
}


@pytest.mark.parametrize("case", ORDERED)
def test_a_rule_takes_and_sets_the_tokens_of_its_effects(case):
    transform, count = ORDERED[case]
    effect, seen = make_effect(), []
    fun = jax.jit(transform(with_effect(effect, passing_tokens(effect, seen)).bind))
    for _ in range(2):
        np.testing.assert_array_equal(fun(X), X * (-1) ** count)
    assert seen
    assert all(found == [effect] for found in seen)
    assert "after_all" in fun.lower(X).as_text()


def test_a_traced_rule_of_an_operation_with_ordered_effects():
    effect = make_effect()
    primitive = with_effect(effect, mlir.lower_fun(lambda x: -x, multiple_results=False))
    np.testing.assert_array_equal(jax.jit(lambda x: primitive.bind(x) + 1)(X), 1 - X)


def test_tokens_that_a_rule_forgets_or_invents():
    effect = make_effect()
    forgets = with_effect(effect, lambda ctx, x: [x])
    with pytest.raises(ValueError, match=r"'ordered_operation' must set.*\{Orders\}"):
        jax.jit(forgets.bind)(X)
    other = mlir.TokenSet({make_effect(): None})
    with pytest.raises(ValueError, match="set_tokens_out"):
        inside_a_rule(lambda ctx, x: ctx.set_tokens_out(other))


def test_sets_of_tokens():
    effect = make_effect()
    tokens = mlir.TokenSet({effect: 1})
    assert (tokens.get(effect), tokens.items(), tokens.effects()) == (1, ((effect, 1),), {effect})
    assert tokens.subset([effect]).items() == tokens.items()
    assert tokens.update_tokens(mlir.TokenSet({effect: 2})).get(effect) == 2
    made = inside_a_rule(lambda ctx, x: mlir.TokenSet.create([effect]).get(effect).type)
    assert str(made) == "!stablehlo.token"


def test_the_context_of_a_rule():
    def look(ctx, x):
        module = ctx.module_context
        return (
            ctx.primitive.name,
            module.platforms,
            module.get_backend().platform,
            isinstance(module.axis_context, mlir.ShardingContext),
            module.axis_context.num_devices,
            ctx.is_forward_compat(),
            len({module.new_channel(), module.new_channel()}),
            ctx.replace(primitive=None).primitive,
        )

    platform = jax.default_backend()
    told = ("library_operation", (platform,), platform, True, 1, False, 2, None)
    assert inside_a_rule(look) == told


def test_a_rule_on_each_device():
    devices = jax.devices()
    mesh = jax.sharding.Mesh(np.array(devices), ("i",))
    found = []

    def rule(ctx, x):
        found.append(ctx.module_context.axis_context)
        return [stablehlo.negate(x)]

    negate = primitive_with(rule)
    spec = jax.sharding.PartitionSpec("i")
    parts = jax.shard_map(negate.bind, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    x = np.arange(2.0 * len(devices), dtype=np.float32)
    np.testing.assert_array_equal(jax.jit(parts)(x), -x)
    assert isinstance(found[0], mlir.SPMDAxisContext)
    assert found[0].manual_axes == {"i"}


MAIN = """module @a {
  func.func public @main(%a: tensor<f32>) -> tensor<f32> {
    %0 = call @h(%a) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @h(%a: tensor<f32>) -> tensor<f32> {
    return %a : tensor<f32>
  }
}"""


def parse(text):
    with mlir.make_ir_context():
        return mlir.ir.Module.parse(text)


def test_a_module_inside_of_another():
    target = parse("module { func.func private @h() { return } }")
    source = parse(MAIN)
    names = [mlir.merge_mlir_modules(target, "f", source) for _ in range(2)]
    text = mlir.module_to_string(target)
    assert names == ["f", "f_0"]
    assert [text.count(f"func.func private @{n}(") for n in ("h", "h_0", "h_1")] == [1, 1, 1]
    assert "call @h_1" in text
    assert target.operation.verify()
    assert "@main" in mlir.module_to_string(source)


def test_a_module_without_a_main_function():
    with pytest.raises(ValueError, match="has no function 'main'"):
        mlir.merge_mlir_modules(parse("module {}"), "f", parse("module {}"))


def test_modules_as_bytes_and_with_locations():
    module = parse(MAIN)
    again = parse(mlir.module_to_bytecode(module))
    assert mlir.module_to_string(again) == mlir.module_to_string(module)
    assert "loc(" in mlir.module_to_string(module, enable_debug_info=True)


def test_a_program_as_a_module():
    result = mlir.lower_jaxpr_to_module(
        "mine",
        PAIR,
        num_const_args=0,
        in_avals=PAIR.in_avals,
        out_avals=PAIR.out_avals,
        ordered_effects=[],
        platforms=("cpu",),
        backend=None,
        axis_context=mlir.ShardingContext(1),
        donated_args=[True],
        lowering_parameters=mlir.LoweringParameters(),
    )
    text = mlir.module_to_string(result.module)
    assert text.startswith("module @mine")
    assert "jax.buffer_donor" in text
    assert result.module.operation.verify()


def test_a_user_defined_module():
    ctx = mlir.ModuleContext(platforms=("cpu",))
    with ctx.context, mlir.ir.Location.unknown():
        first = mlir.lower_jaxpr_to_fun(ctx, "pair", PAIR, [])
        second = mlir.lower_jaxpr_to_fun(ctx, "pair", PAIR, [])
    assert [first.name.value, second.name.value] == ["pair", "pair_0"]
    assert ctx.module.operation.verify()
