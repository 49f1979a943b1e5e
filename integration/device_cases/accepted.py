"""Disagreements that are accepted: on purpose, or until something that is missing is there.

The whole run fails where a row covers nothing any more.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Row:
    """Disagreements with one reason.

    Attributes:
        name: a pattern of programs' names, `topic: title`, as in `fnmatch`.
        aspect: what differs, as in `agreement.differences`; `*` stands for any.
        mentions: what the difference says.
        reason: why it is accepted.
    """

    name: str
    aspect: str
    mentions: str
    reason: str

    def covers(self, name: str, aspect: str, text: str) -> bool:
        return (
            fnmatchcase(name, self.name) and self.aspect in ("*", aspect) and self.mentions in text
        )


_FIRST = "found before anything is put on the devices"

ON_PURPOSE: tuple[Row, ...] = (
    Row("*jax.pmap(lambda a, b: a)(X, U)", "error", "the mapped axes must have", _FIRST),
    Row("*vmap(lambda a: lax.ppermute(a*", "error", "doesn't match", "it may leave examples out"),
    Row('*psum(a, "x", axis_index_groups=*', "error", "NotImplementedError", "such sums vary"),
    Row("*lax.pbroadcast(*", "error", "pbroadcast", "it is there on CPUs, too"),
    Row("*lax.pbroadcast(b*", "error", "full must be", "its derivative is there"),
    Row("*lax.ragged_all_to_all(*", "error", "UNIMPLEMENTED", "it is there on CPUs, too"),
    Row("*lax.pmax(b*", "error", "a result and not", "extremes over members have derivatives"),
    Row('*lax.psum(r, "i"), axis_name=*', "error", "a result and not", "batches may have names"),
    Row("collectives: gradients: *invarying*", "types", "bool", "positions are not wrapped around"),
    Row('*lax.axis_index("i") * r, *', "types", "{V:x}", "it is not broadcast before"),
    Row("members: batches on*scatter*", "error", "IndexError", "scalars are left for each example"),
    Row("bad_input: *lax.ppermute(X,*", "error", "NameError", "the axis is what is missing"),
    Row("bad_input: *lax.ppermute(a,*", "error", "types: ValueError", "found while it is traced"),
    Row('bad_input: *psum(a, "j")*', "error", "NameError", "the axis is what is missing"),
    Row('bad_input: *lax.pcast(X, "x", *', "error", "pcast", "JAX gives one of two errors"),
    Row("members: *pshuffle(a, *0, 1?)*", "error", "permutation", "it says where all values go"),
)

# What JAX refuses where the program has a result, what it finds later, and what it lets pass.
_MESHES = "an operation needs no mesh but that of its operands"
_TRACED = "found while it is traced"
_SAYS = "the argument is refused that says something else than it does"

ON_PURPOSE += (
    Row("bad_input: *", "error", "no mesh is in force", "there are no axes to change"),
    Row('bad_input: *("x", "x"))', "error", "names the axes 0 and 1 alike", _SAYS),
    Row("bad_input: arguments of different explicit meshes: jnp.sin*", "error", "", _MESHES),
    Row("bad_input: *NamedSharding(auto_line, *)) + 1", "error", "", _MESHES),
    Row("bad_input: *jax.jit(lambda a: a)(jax.device_put(X, NamedSharding(grid*", "*", "", _MESHES),
    Row("bad_input: *jnp.where(Lxy, Xxo, Yxo)", "error", "", "it is divided further"),
    Row("bad_calls: *psum(a, (*x*q*", "error", "NameError", "the axis is what is missing"),
    Row('bad_calls: *vmap(lambda r: lax.psum(r, "x")*', "error", "", "the inner axis is meant"),
    Row("bad_calls: axes: pmap: *", "error", "types: ValueError", _TRACED),
    Row("bad_calls: *devices=*jax.devices()?0?? * 8*", "error", "types: ValueError", _TRACED),
    Row("bad_calls: *donate_argnums=3)*", "error", "out of range", _SAYS),
    Row("bad_calls: *jnp.asarray(np.ones((6, 4)*", "error", "IndivisibleError", _SAYS),
    Row("bad_calls: *eager collectives: *", "error", "NameError", "the axis is what is missing"),
    Row("bad_calls: *psum_scatter(a*", "error", "and not a result", _SAYS),
    Row("bad_calls: claims: *lambda: jnp.zeros*", "error", "", "results of branches are cast"),
    Row(
        "bad_calls: *shard_map(lambda b: jax.pure_callback*",
        "error",
        "float32[2,1,4]",
        "a shard fits",
    ),
    Row("bad_calls: *jax.pmap(lambda a: a, axis_name=*", "error", "context mesh", _MESHES),
    Row("bad_calls: *Xxo, jax.device_put(X, NamedSharding(auto_grid*", "error", "", _MESHES),
    Row("bad_calls: *SingleDeviceSharding(*gpu*", "error", "default_memory", _SAYS),
    Row("bad_calls: *in_specs=P(*x*x*), out_specs*", "error", "DuplicateSpecError", _TRACED),
    Row("bad_calls: *jax.device_put(a, jax.devices()*", "error", "inside a function", _TRACED),
)

_MOVED = "the result is moved at the end; it has a type on the way, too"
_MORE = "JAX has no form of it yet"

ON_PURPOSE += (
    Row("out_sharding: *", "types", "", _MOVED),
    Row("out_sharding: *Xxy.at?I?.add(1.0*", "collectives", "all-gather", _MOVED),
    Row("out_sharding: *jax.ops.segment_*", "collectives", "collective-permute", _MOVED),
    Row("out_sharding: *lax.full*", "*", "", "JAX leaves it out inside of programs"),
    Row('out_sharding: *jnp.einsum("ij->ji"*', "*", "", "JAX leaves it out without a product"),
    Row("out_sharding: *jax.device_put(X, *", "*", "", "JAX leaves it out inside of programs"),
    Row("out_sharding: *jax.nn.one_hot(*", "error", "a result and not", _MORE),
    Row("out_sharding: *orthogonal()*", "error", "a result and not", _MORE),
    Row("out_sharding: *Xxo.at?0?.get(*", "error", "a result and not", _MORE),
    Row("out_sharding: *jnp.bincount(*", "error", "a result and not", _MORE),
    Row("out_sharding: *jnp.histogram(*", "error", "a result and not", _MORE),
    Row("out_sharding: no mesh in force: *", "*", "", "the sharding has a mesh of its own"),
)

_WAY = "types on the way; those of the results are the same"
_RESIDUALS = "scalars are residuals as they are, or none"
_JAX = "JAX cannot trace or lower it"

ON_PURPOSE += (
    Row("collectives: gradients*", "types", "f32[1]{V:", _RESIDUALS),
    Row("shard_map: grad: *", "types", "f32[1]{V:", _RESIDUALS),
    Row("shard_map: vjp", "types", "f32[1]{V:", _RESIDUALS),
    Row("shard_map: linear_transpose", "types", "f32[1]{V:", _RESIDUALS),
    Row("explicit: gradients: *", "types", "", _WAY),
    Row("explicit: directional derivatives: *", "types", "", _WAY),
    Row("functions: reductions: jnp.median(*", "types", "", _WAY),
    Row("functions: changes of shape: jnp.repeat(*", "types", "", _WAY),
    Row("functions: positions: Xxo.at*", "types", "", _WAY),
    Row("functions: linear algebra: jnp.linalg.det(*", "types", "", _WAY),
    Row("functions: random numbers: *vmap(jax.random.normal)*", "types", "", _WAY),
    Row("shard_map: linear algebra within", "types", "", _WAY),
    Row("explicit: directional derivatives: *", "error", "VJP function", "a cotangent is moved"),
    Row("explicit: custom_vjp whose rule *", "error", "bwd rule", "a cotangent is moved"),
    Row("explicit: the mesh need not be set: *", "error", "device assignment", _MESHES),
    Row("explicit: reshard: * is Xxo", "value", "", "what lies so already is returned itself"),
    Row(
        "explicit: auto_axes: the gradient",
        "collectives",
        "",
        "a cotangent enters divided as the result is, and what it meets is gathered",
    ),
    Row("functions: reductions: jnp.trace(*", "error", "select", "constants are divided, too"),
    Row("functions: linear algebra: jnp.linalg.qr(*", "error", "select", "constants are, too"),
    Row("functions: products of matrices: jnp.kron(*", "error", "reshape", _MORE),
    Row("functions: positions: *.get(out_sharding=P())", "error", "slicing on sharded", _MORE),
    Row("functions: positions: jnp.take(Xoo, Ix*", "error", "gather", "divided as the positions"),
    Row("explicit: operations on batches: *Ix % 4, U)", "error", "gather", "as the positions"),
    Row("explicit: operations on batches: *lax.scan(*", "error", "Resource axis", _JAX),
    Row("explicit: constants of derivatives: *cummax*", "error", "select", "constants are, too"),
    Row(
        "functions: makers: jnp.linspace(*",
        "collectives",
        "all-gather",
        "of values whose type is not divided the compiler decides, here not for the best",
    ),
    Row("jit: put on a mesh: *", "type", "<host>", "types say nothing of memories"),
    Row("jit: *device=NamedSharding(mesh*", "place", "", "device= holds in programs, too"),
    Row("jit: closed-over arrays *", "place", "", "a result may keep the closed-over sharding"),
    Row("pmap: smap over one of two axes: *", "error", "evenly divisible", _JAX),
    Row("shard_map: nested: the gradient", "*", "", _JAX),
    Row("shard_map: checkify with a mesh that is set", "error", "broadcast_in_dim", _JAX),
    Row("shard_map: cond: branches *", "error", "cond branches", "results of branches are cast"),
    Row("shard_map: vmap inside with a name *", "error", "psum can only", "batches may have names"),
)

_SUMMED = "it is summed, and then no longer"
_VALUE = "what is made keeps its value: JAX has every device make all of it as its term"

ON_PURPOSE += (
    Row("unreduced: *", "types", "", _MOVED),
    Row("unreduced: *jnp.einsum(*", "collectives", "all-reduce", _SUMMED),
    Row("unreduced: *jnp.einsum(*", "error", "a result and not", _SUMMED),
    Row("unreduced: *jax.ops.segment_sum(*", "collectives", "all-reduce", _SUMMED),
    Row("unreduced: *Xoo.at?Ix?.add(*", "collectives", "all-reduce", _SUMMED),
    Row("unreduced: *-jnp.dot(*", "error", "a result and not", _MORE),
    Row("unreduced: *jnp.bincount(*", "error", "a result and not", _MORE),
    Row("unreduced: made: *", "value", "", _VALUE),
)

ON_PURPOSE += (
    Row("transformed: *", "types", "", _WAY),
    Row("transformed: *jax.vjp(lambda a: a.T*", "error", "VJP function", "a cotangent is moved"),
    Row("transformed: batches: *lax.scan(*", "error", "Resource axis", _JAX),
    Row(
        "transformed: *jax.sharding.auto_axes(lambda b: b * 2, out_sharding=P(None, *",
        "error",
        "",
        _MORE,
    ),
)

# What needs something that is not made yet.
PENDING: tuple[Row, ...] = ()


def reason(name: str, aspect: str, text: str) -> Row | None:
    """Return the row that accepts a difference, or None."""
    rows = (*ON_PURPOSE, *PENDING)
    return next((row for row in rows if row.covers(name, aspect, text)), None)
