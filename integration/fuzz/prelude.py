"""The names that the texts of programs use, evaluated on either side."""

PRELUDE = """
import functools
import warnings

warnings.simplefilter("ignore")

def is_float(a):
    return isinstance(a, float) or (hasattr(a, "dtype") and jnp.issubdtype(a.dtype, np.floating))

def wide(a):
    return a.astype(jnp.promote_types(a.dtype, np.float32))

# Functions that control flow is given: a carry keeps its dtype, branches agree in theirs.
def as_last(f):
    return lambda *args: jnp.asarray(f(*args)).astype(jnp.result_type(args[-1]))
def carried(f):
    def body(c, x):
        carry, *rest = f(c, x)
        return jnp.asarray(carry).astype(jnp.result_type(c)), rest[0]
    return body

# Transformations within a program.
def pulled(f):
    def pull(x):
        y, back = jax.vjp(f, x)
        return back(jnp.ones_like(y))[0]
    return pull
def with_jvp(f):
    custom = jax.custom_jvp(f)
    @custom.defjvp
    def rule(primals, tangents):
        y, t = jax.jvp(f, primals, tangents)
        return y, t * 2
    return custom
def with_jvps(f):
    custom = jax.custom_jvp(f)
    custom.defjvps(lambda t, y, x: t * y.astype(t.dtype))
    return custom
def with_vjp(f):
    custom = jax.custom_vjp(f)
    def forward(x):
        return f(x), x
    def backward(x, ct):
        return (jax.vjp(f, x)[1](ct)[0] * 2,)
    custom.defvjp(forward, backward)
    return custom
def with_static_vjp(f):
    custom = jax.custom_vjp(lambda k, x: f(x) * k, nondiff_argnums=(0,))
    def backward(k, x, ct):
        return ((ct * k * 3).astype(x.dtype).reshape(x.shape),)
    custom.defvjp(lambda k, x: (f(x) * k, x), backward)
    return functools.partial(custom, 2)

# Transformations of a program: of a function of arrays, keys and Python scalars to a tree of them.
def total(tree):
    return sum((jnp.sum(jnp.real(a) * (0.5 + i / 4)) for i, a in enumerate(jax.tree.leaves(tree))
                if is_float(a) or jnp.issubdtype(jnp.result_type(a), np.complexfloating)), 0.)
def of_floats(f, args):
    by = [i for i, a in enumerate(args) if is_float(a)]
    def g(*floats):
        full = list(args)
        for i, a in zip(by, floats):
            full[i] = a
        return f(*full)
    return g, [args[i] for i in by]
def direction(a):
    return (jnp.cos(jnp.arange(np.size(a)).reshape(np.shape(a))) / 2).astype(jnp.result_type(a))
def second(a):
    if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
        return jax.vmap(lambda k: jax.random.fold_in(k, 1))(a.reshape(-1)).reshape(a.shape)
    if jnp.issubdtype(a.dtype, np.inexact):
        return a * 0.75
    return ~a if a.dtype == bool else a // 2
def stacked(a, axis):
    a = jnp.asarray(a)
    return jnp.stack([a, second(a)], axis)

def jit(f):
    return jax.jit(f)
def vmap(f, in_axes, out_axes):
    def mapped(*args):
        full = [a if n is None else stacked(a, n) for a, n in zip(args, in_axes)]
        return jax.vmap(f, in_axes=in_axes, out_axes=out_axes)(*full)
    return mapped
def grad(f):
    def gradients(*args):
        g, floats = of_floats(f, args)
        return jax.grad(lambda *floats: total(g(*floats)), tuple(range(len(floats))))(*floats)
    return gradients
def jvp(f):
    def pushed(*args):
        g, floats = of_floats(f, args)
        return jax.jvp(g, tuple(floats), tuple(map(direction, floats)))
    return pushed
def linearize(f):
    def linear(*args):
        g, floats = of_floats(f, args)
        y, push = jax.linearize(g, *floats)
        return y, push(*map(direction, floats))
    return linear
def jacfwd(f):
    def jacobian(*args):
        g, floats = of_floats(f, args)
        return jax.jacfwd(lambda x: total(g(x, *floats[1:])))(floats[0])
    return jacobian
def jacrev(f):
    def jacobian(*args):
        g, floats = of_floats(f, args)
        return jax.jacrev(lambda x: jax.tree.map(jnp.real, total(g(x, *floats[1:]))))(floats[0])
    return jacobian
def checkpoint(f):
    return jax.checkpoint(f)
def scanned(f):
    def loop(*args):
        g, floats = of_floats(f, args)
        def body(i, _):
            return i + 1, g(*[(a * (1 - i / 4)).astype(jnp.result_type(a)) for a in floats])
        return lax.scan(body, 0, None, length=2)[1]
    return loop
def branched(f):
    def branch(*args):
        g, floats = of_floats(f, args)
        return lax.cond(jnp.sum(floats[0]) > 0.1, g, lambda *floats: g(
            *[(a * 0.5).astype(jnp.result_type(a)) for a in floats]), *floats)
    return branch
def of_arrays(f, args):
    by = [i for i, a in enumerate(args) if hasattr(a, "dtype")]
    def g(*arrays):
        full = list(args)
        for i, a in zip(by, arrays):
            full[i] = a
        return f(*full)
    return g, [stacked(args[i], 0) for i in by]
def sharded(f):
    def run(*args):
        g, arrays = of_arrays(f, args)
        def block(*arrays):
            return jax.tree.map(lambda y: jnp.stack([y]), g(*[a[0] for a in arrays]))
        return jax.shard_map(block, mesh=mesh(2), in_specs=P("d"), out_specs=P("d"))(*arrays)
    return run
def exported(f):
    def run(*args):
        g, arrays = of_arrays(f, args)
        export = library("export")
        (size,) = export.symbolic_shape("b")
        types = [jax.ShapeDtypeStruct((size, *a.shape[1:]), a.dtype) for a in arrays]
        return export.export(jax.jit(jax.vmap(g)))(*types).call(*arrays)
    return run

def moved(a, size):
    if not jnp.issubdtype(a.dtype, np.inexact):
        return a
    if getattr(a, "weak_type", False):
        return a * (1 + size)
    exact = np.asarray(a).astype(complex if a.dtype.kind == "c" else float)
    near = exact * (1 + size * np.cos(1 + 2 * np.arange(exact.size)).reshape(exact.shape))
    return jnp.asarray(near, a.dtype)

def attempt(f, args):
    try:
        return {"value": f(*args)}
    except Exception as error:
        return {"error": " ".join(c.__name__ for c in type(error).__mro__), "message": str(error)}
def answers(functions, args, size):
    arrays = {i: a for i, a in enumerate(args) if hasattr(a, "dtype")}
    def every(arrays):
        full = [arrays.get(i, a) for i, a in enumerate(args)]
        return {name: f(*full) for name, f in functions.items()}
    run = jax.jit(every)
    try:
        results = run(arrays)
    except Exception:  # compiled together, one would hide what the others are
        if len(functions) == 1:
            return {name: attempt(f, args) for name, f in functions.items()}
        alone = [answers({name: f}, args, size) for name, f in functions.items()]
        return {name: value for answer in alone for name, value in answer.items()}
    near = run({i: moved(a, size) for i, a in arrays.items()})
    return {name: {"value": results[name]} for name in results} | {
        f"{name}_moved": {"value": near[name]} for name in near}
"""
