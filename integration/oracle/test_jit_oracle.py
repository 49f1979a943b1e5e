"""The parameters of `jit`, and the properties of its stages, are JAX's."""

import pytest

from ricci_testing import Oracle, Request, compare, evaluate_with, ricci_namespace, shared_oracle

pytestmark = pytest.mark.skipif(
    not Oracle.available(), reason="oracle environment missing: run nox -s oracle"
)

_F = "f = lambda a, n, *, k=1: a * n * k\n"
_DONATE = "f = lambda a, b: a + b\n"
_STAGE = "lowered = jax.jit(lambda x, y: {'s': x @ y}).lower(jnp.ones((3, 3)), y=jnp.ones(3))\n"

SAME = {
    "static position, given by name": f"{_F}jax.jit(f, static_argnums=1)(2.0, n=3)",
    "static name, given by position": f"{_F}jax.jit(f, static_argnames='n')(2.0, 3)",
    "static keyword-only": f"{_F}jax.jit(f, static_argnames=('k',))(2.0, 3, k=5)",
    "static both ways": f"{_F}jax.jit(f, static_argnums=1, static_argnames='k')(2.0, 3, k=5)",
    "static counted from the end": f"{_F}jax.jit(f, static_argnums=-1)(2.0, 3)",
    "static with a default": "jax.jit(lambda x, n=2: x * n, static_argnames='n')(3.0)",
    "static position of NumPy": f"{_F}jax.jit(f, static_argnums=np.int64(1))(2.0, 3)",
    "static positions of NumPy": f"{_F}jax.jit(f, static_argnums=(np.int8(1),))(2.0, 3)",
    "donated position of NumPy": "jax.jit(lambda a: a, donate_argnums=np.int64(0))(3.0)",
    "static name among keywords": "jax.jit(lambda *a, **k: k['b'], static_argnames='b')(b=3)",
    "static under grad": "jax.grad(jax.jit(lambda x, n: x**n, static_argnums=1))(2.0, 3)",
    "decorator with options": "jax.jit(static_argnames='n')(lambda x, n: x * n)(2, n=3)",
    "donated name by position": (
        f"{_DONATE}jax.jit(f, donate_argnames='b').lower(1.0, 2.0).donate_argnums"
    ),
    "donated position by name": (
        f"{_DONATE}jax.jit(f, donate_argnums=1).lower(1.0, b=2.0).donate_argnums"
    ),
    "donated tree": (
        "jax.jit(lambda a, b: a, donate_argnums=1).lower(1.0, {'x': 1.0, 'y': 2.0}).donate_argnums"
    ),
    "donated beside static": (
        "jax.jit(lambda a, n, b: b, donate_argnums=2, static_argnums=1)"
        ".lower(1.0, 7, (1.0, 2.0)).donate_argnums"
    ),
    "donated is deleted": (
        "x = jnp.arange(1000.0)\nwhere = x.unsafe_buffer_pointer()\n"
        "y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)\n"
        "(x.is_deleted(), y.unsafe_buffer_pointer() == where)"
    ),
    "result of None": "jax.jit(lambda x: None)(1.0)",
    "no arguments": "jax.jit(lambda: 3)()",
    "committed by device": "jax.jit(lambda x: x, device=jax.devices()[0])(1.0).committed",
    "committed by backend": "jax.jit(lambda x: x, backend=jax.default_backend())(1.0).committed",
    "not committed": "jax.jit(lambda x: x)(1.0).committed",
    "kept arguments": (
        "jax.jit(lambda x, y: x, keep_unused=True).lower(1.0, 2.0).as_text().count('%arg')"
    ),
    "dropped arguments": "jax.jit(lambda x, y: x).lower(1.0, 2.0).as_text().count('%arg')",
    "static types differ": (
        "f = jax.jit(lambda n, x: x + 2 * isinstance(n, bool) + isinstance(n, float),"
        " static_argnums=0)\n"
        "(f(1, 0.0), f(True, 0.0), f(1.0, 0.0))"
    ),
    "inlined is still a call": (
        "str(jax.make_jaxpr(lambda x: jax.jit(lambda y: y + 1, inline=True)(x))(1.0))"
    ),
    "inlined early is none": (
        "str(jax.make_jaxpr(lambda x: jax.jit(lambda y: y + 1, inline=jax.Inline"
        ".JAX_EARLY)(x))(1.0))"
    ),
    "inlined is no function": (
        "jax.jit(lambda x: jax.jit(lambda y: y + 1, inline=True)(x)).lower(1.0).as_text()"
        ".count('func.func')"
    ),
    "not inlined is a function": (
        "jax.jit(lambda x: jax.jit(lambda y: y + 1)(x)).lower(1.0).as_text().count('func.func')"
    ),
    "disabled: branches": (
        "with jax.disable_jit():\n    y = jax.jit(lambda x: x if x > 0 else -x)(jnp.float32(-3))\ny"
    ),
    "disabled: derivatives": (
        "with jax.disable_jit():\n    y = jax.grad(jax.jit(lambda x: x * x if x > 0 else"
        " -x))(-3.0)\ny"
    ),
    "disabled: not in the program": (
        "with jax.disable_jit():\n    p = str(jax.make_jaxpr(jax.jit(lambda x: x + 1))(1.0))\np"
    ),
    "disabled: loops": (
        "with jax.disable_jit():\n"
        "    y = jax.lax.while_loop(lambda x: x < 3, lambda x: x + 1, 1)\n"
        "    z = jax.lax.fori_loop(0, 3, lambda i, x: x + i, jnp.int16(1))\n(y, z)"
    ),
    "in_tree": f"{_STAGE}str(lowered.in_tree)",
    "out_tree": f"{_STAGE}str(lowered.out_tree)",
    "in_avals": f"{_STAGE}str(lowered.in_avals)",
    "out_info": f"{_STAGE}str(lowered.out_info)",
    "out_info has no weak types": "str(jax.jit(lambda x: x).lower(1.0).out_info)",
    "eval_shape has weak types": "str(jax.jit(lambda x: x).eval_shape(1.0))",
    "args_info": f"{_STAGE}str(lowered.args_info)",
    "compiled calls": f"{_STAGE}lowered.compile()(jnp.ones((3, 3)), y=jnp.arange(3.0))",
    "compiled takes weak types": "jax.jit(lambda x: x + 1).lower(1.0).compile()(jnp.float32(2))",
    "compiled without its static": (
        "jax.jit(lambda x, n: x + n, static_argnums=1).lower(1.0, 2).compile()(5.0)"
    ),
    "flops": f"{_STAGE}lowered.compile().cost_analysis()['flops']",
    "lowered flops": f"{_STAGE}lowered.cost_analysis()['flops']",
    "argument bytes": f"{_STAGE}lowered.compile().memory_analysis().argument_size_in_bytes",
    "types of IR": (
        f"{_STAGE}[type(lowered.compiler_ir(d)).__name__ for d in (None, 'stablehlo', 'hlo')]"
    ),
    "input_shardings": f"{_STAGE}str(lowered.compile().input_shardings)",
    "output_shardings": f"{_STAGE}str(lowered.compile().output_shardings)",
    "output_formats": f"{_STAGE}str(lowered.compile().output_formats['s'].layout.major_to_minor)",
    "input_formats": f"{_STAGE}str(lowered.compile().input_formats[0][0].layout.major_to_minor)",
    "traced": (
        "t = jax.jit(lambda x: jnp.sin(x)).trace(1.0)\n"
        "(str(t.jaxpr), t.fun_name, str(t.out_avals), len(t.effects))"
    ),
    "lowered for another platform": (
        "'sine' in jax.jit(jnp.sin).trace(1.0).lower(lowering_platforms=('cuda',)).as_text()"
    ),
    "abstract arguments": (
        "jax.jit(lambda x: x).lower(jax.ShapeDtypeStruct((2,), 'float32')).as_text().count('2xf32')"
    ),
    "make_jaxpr static": "str(jax.make_jaxpr(lambda x, n: x * n, static_argnums=-1)(1.0, 3))",
    "make_jaxpr axis_env": (
        "str(jax.make_jaxpr(lambda x: jax.lax.psum(x, 'i'), axis_env=[('i', 4)])(1.0))"
    ),
    "make_jaxpr shapes": "str(jax.make_jaxpr(lambda x: {'a': x}, return_shape=True)(1.0)[1])",
    "eval_shape of a duck": (
        "import types\nduck = types.SimpleNamespace(shape=[3], dtype=jnp.float32)\n"
        "str(jax.eval_shape(lambda x: {'a': jnp.sin(x)}, duck))"
    ),
    "typeof": "str([jax.typeof(x) for x in (1, 1.0, True, 1j, np.ones(3), jnp.ones((2, 3)))])",
    "typeof a description": "str(jax.typeof(jax.ShapeDtypeStruct((3,), jnp.int32)))",
    "compile time": (
        "def f(x):\n    with jax.ensure_compile_time_eval():\n"
        "        n = int(jnp.array([1, 2]).sum())\n    return x * n\nstr(jax.make_jaxpr(f)(1.0))"
    ),
    "named_call keeps the program": (
        "str(jax.make_jaxpr(jax.named_call(lambda x: x * 2, name='n'))(1.0))"
    ),
}

ERRORS = {
    "static and donated": "jax.jit(lambda a, b: a, donate_argnums=1, static_argnums=1)",
    "static that cannot be hashed": "jax.jit(lambda a, n: a, static_argnums=1)(1.0, [3])",
    "static array": "jax.jit(lambda a, n: a, static_argnums=1)(1.0, np.ones(3))",
    "static out of range": "jax.jit(lambda a: a, static_argnums=5)",
    "static name of all positions": "jax.jit(lambda *xs: 0, static_argnames='xs')",
    "static name of all positions and a keyword": "jax.jit(lambda *a, **k: 0, static_argnames='a')",
    "donated name of all positions": "jax.jit(lambda *xs: 0, donate_argnames='xs')",
    "static unknown": "jax.jit(lambda a: a, static_argnames='q')",
    "static of a wrong type": "jax.jit(lambda a: a, static_argnums='q')",
    "donated out of range": "jax.jit(lambda a: a, donate_argnums=5)",
    "donated unknown": "jax.jit(lambda a: a, donate_argnames='q')",
    "device and backend": "jax.jit(lambda x: x, device=jax.devices()[0], backend='cpu')",
    "unknown backend": "jax.jit(lambda x: x, backend='nowhere')(1.0)",
    "unknown compiler option": "jax.jit(lambda x: x, compiler_options={'xla_nothing': True})(1.0)",
    "compiler option of a wrong type": (
        "jax.jit(lambda x: x, compiler_options={'xla_cpu_enable_fast_math': object()})(1.0)"
    ),
    "compiler option inside": (
        "o = {'xla_cpu_enable_fast_math': True}\n"
        "jax.jit(lambda x: jax.jit(lambda x: x, compiler_options=o)(x))(1.0)"
    ),
    "not callable": "jax.jit(3)",
    "no array": "jax.jit(lambda x: x)('abc')",
    "no array returned": "jax.jit(lambda x: 'abc')(1.0)",
    "generator": "def f():\n    yield 1\njax.jit(f)()",
    "description as an argument": "jax.jit(lambda x: x)(jax.ShapeDtypeStruct((2,), 'float32'))",
    "donated and used": (
        "x = jnp.ones(3)\njax.jit(lambda x: x + 1, donate_argnums=0)(x)\njax.jit(lambda x: x)(x)"
    ),
    "unknown dialect": f"{_STAGE}lowered.as_text('verilog')",
    "compiled with another dtype": (
        f"{_STAGE}lowered.compile()(jnp.ones((3, 3), int), y=jnp.ones(3))"
    ),
    "compiled with another shape": f"{_STAGE}lowered.compile()(jnp.ones((2, 3)), y=jnp.ones(3))",
    "compiled with another structure": f"{_STAGE}lowered.compile()(jnp.ones((3, 3)), jnp.ones(3))",
    "compiled and differentiated": (
        "c = jax.jit(lambda x: x * x).lower(1.0).compile()\njax.grad(c)(1.0)"
    ),
    "compiled and traced": "c = jax.jit(lambda x: x * x).lower(1.0).compile()\njax.jit(c)(1.0)",
    "make_jaxpr of what cannot be hashed": (
        "jax.make_jaxpr(lambda a, n: a, static_argnums=1)(1.0, [3])"
    ),
    "typeof text": "jax.typeof('a')",
    "tracing forbidden": "with jax.no_tracing(True):\n    jax.jit(lambda x: x)(1.0)\n0",
    "running forbidden": (
        "f = jax.jit(lambda x: x)\nf(1.0)\nf(1.0)\nwith jax.no_execution(True):\n    f(1.0)\n0"
    ),
    "nan": "with jax.debug_nans(True):\n    jax.jit(jnp.log)(-1.0)\n0",
    "inf": "with jax.debug_infs(True):\n    jax.jit(jnp.log)(0.0)\n0",
    "scope without a name": "jax.named_scope(3)",
}

# These errors are raised by jaxlib, or say no more than NumPy's do.
JAXLIBS_WORDS = (
    "static that cannot be hashed",
    "static array",
    "unknown compiler option",
    "nan",
    "inf",
)


def results(sources):
    requests = [Request(source, {}) for source in sources]
    mine = [evaluate_with(ricci_namespace(), r.source, {}) for r in requests]
    return zip(sources, mine, shared_oracle().run_many(requests), strict=True)


@pytest.mark.parametrize("case", SAME)
def test_same_result(case):
    ((source, mine, theirs),) = results([SAME[case]])
    compare(mine, theirs, source=source)


@pytest.mark.parametrize("case", ERRORS)
def test_same_class_of_error(case):
    ((source, mine, theirs),) = results([ERRORS[case]])
    assert theirs.error is not None, source
    assert mine.error is not None, source
    assert mine.error.name == theirs.error.name
    if case not in JAXLIBS_WORDS:
        assert mine.error.message != theirs.error.message
