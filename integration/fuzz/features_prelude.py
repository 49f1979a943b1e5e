"""Functions that the rows of `features_table` call, evaluated on either side."""

FEATURES_PRELUDE = """
import importlib

def library(name):
    return importlib.import_module(f"{jax.__name__}.{name}")
checkpoint_name = library("ad_checkpoint").checkpoint_name
custom_vmap = library("custom_batching").custom_vmap
P = jax.sharding.PartitionSpec

# Functions that write references: to a value's type, so that what is written fits.
def like(y, x):
    return jnp.asarray(y).astype(jnp.result_type(x)).reshape(jnp.shape(x))
def strong(x):
    return jnp.asarray(x, jnp.result_type(x))
def through_ref(f, x):
    ref = jax.new_ref(strong(x))
    ref[...] = like(f(ref[...]), x)
    return jax.freeze(ref)
def accumulated(f, xs):
    total = jax.new_ref(jnp.zeros(xs.shape[1:], xs.dtype))
    def body(i, _):
        total[...] += like(f(xs[i]), xs[0]) * 0.3
    lax.fori_loop(0, xs.shape[0], body, None)
    return total[...]
def written(f, xs):
    out = jax.new_ref(jnp.zeros_like(xs))
    def body(c, x):
        out[c] = like(f(x), x)
        return c + 1, out[0]
    lax.scan(body, 0, xs)
    return jax.freeze(out)
def written_by_branch(p, f, x):
    ref = jax.new_ref(strong(x))
    def write(y):
        ref[...] = like(f(y), y)
    lax.cond(p, write, lambda y: None, x * 0.5)
    return ref[...]
def passed_ref(f, x):
    ref = jax.new_ref(strong(x))
    @jax.jit
    def write(ref, y):
        old = ref[...]
        ref[...] = like(f(y), y)
        return old
    return write(ref, x * 0.5) + ref[...] * 0.3
def swapped(x, i, y):
    ref = jax.new_ref(strong(x))
    old = jax.ref.swap(ref, i, like(jnp.broadcast_to(y, x.shape[1:]), x[0]))
    jax.ref.addupdate(ref, 0, old)
    return jax.freeze(ref), old

# Functions over devices.
def mesh(*sizes, type=jax.sharding.AxisType.Auto):
    return jax.make_mesh(sizes, ("d", "e")[:len(sizes)], axis_types=(type,) * len(sizes))
def over_devices(f, *args, check=True):
    def block(x, *others):
        return jnp.asarray(f(x[0], *others))[None]
    specs = (P("d"),) + (P(),) * (len(args) - 1)
    return jax.shard_map(block, mesh=mesh(args[0].shape[0]), in_specs=specs, out_specs=P("d"),
                         check_vma=check)(*args)
def summed_over_devices(f, x, axis="d"):
    def block(x):
        return lax.psum(jnp.asarray(f(x[0])) * 0.3, axis)
    return jax.shard_map(block, mesh=mesh(x.shape[0]), in_specs=P("d"), out_specs=P())(x)
def over_two(f, x):
    def block(x):
        y = jnp.asarray(f(x[0, 0]))
        return (y + lax.pmean(y, "e") * 0.3 + lax.psum(y, ("d", "e")) * 0.1)[None, None]
    sizes = x.shape[:2]
    return jax.shard_map(block, mesh=mesh(*sizes), in_specs=P("d", "e"), out_specs=P("d", "e"))(x)
def exchanged(move, x):
    return jax.shard_map(move, mesh=mesh(x.shape[0]), in_specs=P("d"), out_specs=P("d"))(x)
def manual_in_part(f, x):
    block = lambda x: jnp.asarray(f(x[0]))[None]
    return jax.shard_map(block, mesh=mesh(x.shape[0], 2), in_specs=P("d"), out_specs=P("d"),
                         axis_names={"d"})(x)

# Functions of arrays in other formats.
def as_sparse(x, batch=0):
    sparse = library("experimental.sparse")
    return sparse.BCOO.fromdense(x, nse=max(1, int(np.prod(x.shape[batch:]))), n_batch=batch)
def sparsified(f, x):
    return library("experimental.sparse").sparsify(f)(as_sparse(x)).todense()

# Functions that bring rules of their own.
def with_vmap(f):
    custom = custom_vmap(f)
    @custom.def_vmap
    def rule(size, batched, x):
        return (jax.vmap(f)(x) * 2, True) if batched[0] else (f(x) * 2, False)
    return custom
def solved(f, b):
    a = jnp.eye(b.shape[0], dtype=b.dtype) * 2
    return lax.custom_linear_solve(lambda x: a @ x, b, lambda matvec, b: b / 2,
                                   lambda vecmat, b: b / 2) + like(f(b), b) * 0.1
def by_numpy(x, method):
    return jax.pure_callback(lambda x: np.asarray(x) * np.asarray(0.5, x.dtype),
                             jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method=method)
def transposed(f, x):
    return jax.linear_transpose(lambda y: y * 0.5 + jnp.sum(y) * 0.1, x)(like(f(x), x))[0]
"""
