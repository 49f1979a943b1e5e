"""Calls of compiled functions, which Ricci and JAX evaluate alike. Each row is an expression.

``x`` is a vector of three numbers and ``m`` a matrix of two rows.
"""

# Both sides begin so.
START = """
from functools import partial
import ctypes, jax.ffi
ffi_call = jax.ffi.ffi_call
S = lambda shape=(3,), dtype=np.float32: jax.ShapeDtypeStruct(shape, dtype)
call = lambda *xs, **attributes: ffi_call("target", S())(*xs, **attributes)
"""
METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")

# Programs

ATTRIBUTES = [
    *(
        "1",
        "-1",
        "2**31",
        "2**63 - 1",
        "1.5",
        "-0.0",
        "1e300",
        "True",
        "'a\"b\\n'",
        "b'\\xff'",
        "'ü'",
    ),
    *("float('inf')", "float('nan')", "np.bool_(True)", "np.int8(-1)", "np.uint8(200)"),
    *(
        "np.int16(3)",
        "np.uint16(3)",
        "np.int32(4)",
        "np.uint32(5)",
        "np.int64(5)",
        "np.float16(.5)",
    ),
    *("np.float32(.1)", "np.float64(.1)", "np.str_('a')", "np.dtype('float32')"),
    *("np.arange(3)", "np.float32([[1, 2]])", "np.array([True])", "np.array(3)", "np.array([1j])"),
    *("np.zeros((0, 2))", "np.uint8([1, 255])", "np.arange(40) * 1.5"),
    *("(1, 2)", "(1.5,)", "('a', True)", "()", "((1,), (2, 3))", "(np.int32(1), 2.0)"),
    *("{'b': 1, 'a': 2.5}", "{}", "{'a b': 1, 'c': (1,)}"),
]
PROGRAMS = [
    *(f"lambda x: call(x, a={value})" for value in ATTRIBUTES),
    "lambda x: call(x, b=1, a=2, **{'a b': 1, 'a.b': 2})",
    "lambda x: call()",
    "lambda x: call(x, 2.0, 1, True, x[:0])",
    "lambda x: ffi_call('t g\"t', [S(), S((2, 2), np.int32)])(x, x)",
    "lambda x: ffi_call('target', [], has_side_effect=True)(x) or x",
    "lambda x: (ffi_call('target', [])(x), x)[1]",
    "lambda x: ffi_call('target', [S(), S()], input_output_aliases={0: 1, 1: 0})(x, x)",
    "lambda x: ffi_call('target', S((0,)), input_output_aliases={1: 0})(x, x[:0])",
    *(f"lambda x: ffi_call('t', S(), custom_call_api_version={v})(x)" for v in (0, 1, 2, 3, 4, 5)),
    *(
        f"lambda x: ffi_call('t', S(), custom_call_api_version={v}, "
        "legacy_backend_config='a\"b')(x)"
        for v in (1, 2, 3)
    ),
    *(
        f"lambda x: ffi_call('t', S((3, 1)), {layouts})(x.reshape(1, 3))"
        for layouts in (
            "input_layouts=[(0, 1)]",
            "input_layouts=[(1, 0)], output_layouts=(0, 1)",
            "input_layouts=[None], output_layouts=(1, 0)",
            "output_layouts=None",
        )
    ),
    "lambda x: ffi_call('t', [S((2, 3, 4))] * 2, output_layouts=[(2, 0, 1), None])(x)",
    *(
        f"jax.vmap(lambda x, y: ffi_call('t', [S(), S((1, 2)), S(())], vmap_method={method!r}, "
        f"output_layouts=[None, (1, 0), None])(x, y, a=1), {axes})"
        for method in METHODS
        for axes in ((0, 0), (1, None), (None, 0))
    ),
]
LOWERING_RULES = [
    "jax.ffi.ffi_lowering('t')",
    "jax.ffi.ffi_lowering('t', operand_layouts=[(0, 1)], result_layouts=[None])",
    "jax.ffi.ffi_lowering('t', operand_layouts=[(0, 1)], skip_ffi_layout_processing=True)",
    "jax.ffi.ffi_lowering('t', has_side_effect=True, operand_output_aliases={0: 0})",
    "jax.ffi.ffi_lowering('t', backend_config={})",
    "lambda ctx, x, **p: jax.ffi.build_ffi_lowering_function('t')(ctx, x, a=np.float32(1)).results",
]

# Bad input

REFUSED = [
    *("call(x, a=None)", "call(x, a=jnp.ones(2))", "jax.jit(lambda s: call(x, a=s))(1.0)"),
    *("call(x, a=len)", "call(x, a={1, 2})", "call(x, a=1j)", "call(x, a=np.complex64(1))"),
    *("call(x, a=np.array(['a']))", "call(x, a=np.array([None]))", "call(x, a=2**63)"),
    *("call(x, a=(1, None))", "call(x, a={'b': None})", "call(x, a=range(3))", "call(x, a=float)"),
    *("call('a')", "call(None)", "call([x, x])", "call(x, [1.0])"),
    *(
        "ffi_call('t', 3)",
        "ffi_call('t', [S(), 3])",
        "ffi_call('t', [[S()]])",
        "ffi_call('t', None)",
    ),
    *("ffi_call('t', {'a': S()})", "ffi_call('t', S(), vmap_method='nope')"),
    *("ffi_call(3, S())(x)", "ffi_call('t', S(), has_side_effect=1)(x)"),
    *(
        f"ffi_call('t', S(), input_output_aliases={aliases})(x, x[:2])"
        for aliases in ("{2: 0}", "{0: 1}", "{1: 0}", "{-1: 0}", "{'a': 0}")
    ),
    "ffi_call('t', S(dtype=np.int32), input_output_aliases={0: 0})(x)",
    *(
        f"jax.jit(ffi_call('t', S((2, 3)), input_layouts={layouts}))(m)"
        for layouts in ("[]", "[(0, 1)] * 2", "[(0,)]", "[(0, 0)]", "[(1, 2)]", "(0, 1)", "['ab']")
    ),
    *(
        f"jax.jit(ffi_call('t', [S((2, 3))], output_layouts={layouts}))(m)"
        for layouts in ("[]", "[None, None]", "[(0, 1, 2)]")
    ),
    *(
        f"jax.jit(ffi_call('t', S(), {options}))(x)"
        for options in (
            "custom_call_api_version='4'",
            "custom_call_api_version=None",
            "legacy_backend_config='a'",
            "custom_call_api_version=1, legacy_backend_config=3",
        )
    ),
    "ffi_call('t', S(), custom_call_api_version=1)(x, a=1)",
    "jax.grad(lambda x: call(x).sum())(x)",
    "jax.jit(jax.grad(lambda x: call(x).sum()))(x)",
    "jax.hessian(lambda x: call(x).sum())(x)",
    "jax.linearize(call, x)",
    "jax.jvp(call, (x,), (x,))",
    "jax.linear_transpose(call, x)(x)",
    "jax.grad(lambda x: jax.checkpoint(call)(x).sum())(x)",
    "jax.vmap(call)(m)",
    "jax.jit(jax.vmap(call))(m)",
    "jax.vmap(ffi_call('t', S(), vmap_method='expand_dims', input_output_aliases={0: 0}), "
    "(None, 0))(x, m)",
    "jax.ffi.pycapsule(None)",
    "jax.ffi.pycapsule(ctypes.c_void_p(0))",
    "jax.ffi.register_ffi_type_id('T', 3)",
    "jax.ffi.register_ffi_target('t', None)",
    "jax.ffi.register_ffi_target('t', jax.ffi.pycapsule(1), foo=1)",
    "jax.ffi.register_ffi_target_as_batch_partitionable(3)",
]

# Values

HANDLERS = "Scale Copy Same Sum Count CountInOrder Fail Throw".split()
LOAD = """
lib = ctypes.CDLL(path)
for name in handlers:
    jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(getattr(lib, name)))
scale = lambda x, by=2, shape=None, **options: ffi_call(
    "Scale", S(x.shape if shape is None else shape), **options)(x, scale=np.float32(by))
"""
CALLS = [
    "scale(x)",
    "scale(x[0])",
    "scale(x[:0])",
    "jax.jit(scale)(x) + scale(x)",
    "ffi_call('Scale', [S()])(x, scale=np.float32(2))",
    "ffi_call('Scale', (S(),))(x, scale=np.float32(2))",
    "ffi_call('Scale', jax.typeof(x))(x, scale=np.float32(2))",
    "ffi_call('Scale', S(()))(3.0, scale=np.float32(2))",
    *(f"jax.vmap(partial(scale, vmap_method={m!r}))(m)" for m in METHODS),
    *(f"jax.jit(jax.vmap(partial(scale, vmap_method={m!r}), 1, 1))(m)" for m in METHODS),
    *(f"jax.vmap(jax.vmap(partial(scale, vmap_method={m!r})), 1)(m)" for m in METHODS),
    "jax.vmap(partial(scale, vmap_method='broadcast_all'))(m[:0])",
    "lax.scan(lambda c, y: (scale(c), scale(y)), x, m)",
    "lax.while_loop(lambda c: c[0] < 50, lambda c: scale(c, 3), x)",
    "lax.fori_loop(0, 3, lambda i, c: ffi_call('Scale', S(), has_side_effect=True)"
    "(c, scale=np.float32(2)), x)",
    "lax.cond(x[0] > 0, scale, lambda x: x, x)",
    "jax.checkpoint(scale)(x)",
    "ffi_call('Copy', S((2, 3)), input_layouts=[(1, 0)])(m)",
    "ffi_call('Copy', S((2, 3)), output_layouts=(1, 0))(m)",
    "jax.vmap(ffi_call('Copy', S((2, 3)), output_layouts=(1, 0), vmap_method='expand_dims'))"
    "(jnp.stack([m, m + 10]))",
    "ffi_call('Same', S(), input_output_aliases={0: 0})(x)",
    "ffi_call('Same', S())(x)",
    "ffi_call('Sum', S((1,)))(flag=True, i32=np.int32(2), i64=3, u8=np.uint8(4), "
    "f32=np.float32(.5), f64=.25, text='abc', span=np.array([1, 2]), inner={'i64': 100})",
    "ffi_call('Sum', S((1,)))(i32=2, i64=np.int32(3), f32=1.0, f64=np.float32(1), text=b'ab')",
    # a rule around it
    "f = jax.custom_vjp(lambda x: scale(x))\n"
    "f.defvjp(lambda x: (scale(x), x), lambda x, ct: (scale(ct) * x,))\n"
    "jax.value_and_grad(lambda x: lax.scan(lambda c, _: (f(c), c), x, length=2)[0].sum())(x)",
    "f = jax.custom_jvp(lambda x: scale(x, vmap_method='expand_dims'))\n"
    "f.defjvp(lambda p, t: (f(*p), 2 * t[0]))\n"
    "jax.jacfwd(f)(x), jax.jacrev(f)(x), jax.vmap(jax.grad(lambda x: f(x).sum()))(m)",
    # errors
    "ffi_call('Unknown', S())(x)",
    "jax.jit(ffi_call('Unknown', S()))(x)",
    "ffi_call('Scale', S())(x)",
    "ffi_call('Scale', S())(x, scale='a')",
    "ffi_call('Scale', S())(x, scale=7)",
    "ffi_call('Scale', S())(x, scale=np.float32(2), other=1)",
    "ffi_call('Scale', S())(x, x, scale=np.float32(2))",
    "ffi_call('Scale', [S(), S()])(x, scale=np.float32(2))",
    "ffi_call('Scale', S())(np.int32([1]), scale=np.float32(2))",
    "ffi_call('Scale', S(dtype=np.int32))(x, scale=np.float32(2))",
    "ffi_call('Scale', S(dtype=np.float64))(x, scale=np.float32(2))",
    "ffi_call('Scale', S())(x, scale=(1, 2))",
    "ffi_call('Fail', S())(x)",
    "jax.jit(ffi_call('Fail', S()))(x)",
    "ffi_call('Throw', S())(x)",
    "jax.jit(ffi_call('Throw', S()))(x)",
    "scale(x)",
]
