"""Calls whose jaxprs are cached between calls, besides those of `numpy_cases`: one a line.

The language is that of `numpy_cases`. A `#` begins a remark.
"""

from collections.abc import Iterator

from lax_cases.case import is_inexact
from numpy_cases import by_function
from numpy_cases.case import DERIVATIVES, Call, parse

# Functions without derivatives, and those whose jaxpr depends on the operands' values.
WITHOUT_DERIVATIVES = """
jax.random.normal(jax.random.key(3), (3,)) * f32[3]
jax.random.uniform(jax.random.key(3), (2,), minval=f32[])
jax.random.randint(jax.random.key(3), (4,), 0, i32[ in 5 9])
jax.random.bits(jax.random.wrap_key_data(u32[2]), (3,))
jax.random.key_data(jax.random.split(jax.random.wrap_key_data(u32[2]), 3))
jax.random.key_data(jax.random.fold_in(jax.random.key(0), u32[]))
jax.random.permutation(jax.random.key(1), i32[5])
jax.random.choice(jax.random.key(1), f32[5], (3,))
jax.random.gamma(jax.random.key(1), f32[2 in 1 3])
jax.random.categorical(jax.random.key(1), f32[4])
jax.random.bernoulli(jax.random.key(1), f32[4 in 0 1])
jax.nn.one_hot(i32[3 in 0 3], 4)
jax.nn.initializers.orthogonal()(jax.random.key(0), (3, 3)) * f32[]
jax.scipy.linalg.lu_factor(f32[3,3])[1]
jax.scipy.cluster.vq.vq(f32[5,2], f32[3,2])
lax.top_k(f32[2,5], 2)
lax.population_count(i32[3 in 0 9])
lax.argmax(f32[2,3], 1, 'int32')
lax.bitcast_convert_type(f32[3], 'int32')
i32[5].at[i32[2 in 0 4]].add(1)
i32[5].at[i32[2 in 0 4]].min(i32[2])
"""
DIFFERENTIABLE = """
f32[3].at[1].add(1.)
f32[3].at[1].mul(2.)
f32[3].at[1].min(0.)
f32[3].at[1].max(0.)
f32[3].at[1].set(f32[])
f32[3].at[i32[2 in 0 2]].add(f32[2])
f32[3,2].at[:, 1].power(2)
f32[3].at[1].apply(jnp.sin)
f32[4].at[1:3].get() * 2
f32[4].at[i32[2 in 0 5]].get(mode='fill', fill_value=0.)
f32[4][i32[2 in -4 3]]
f32[3,4][1, ::2]
f32[3,4][i32[2 in 0 2], 1:]
jax.scipy.linalg.expm(f32[2,2])
jax.scipy.linalg.expm_frechet(f32[2,2], f32[2,2])
jax.scipy.linalg.sqrtm(SPD)
jax.scipy.linalg.cho_solve((SPD, True), f32[3])
jax.scipy.linalg.solve(SPD, f32[3])
jax.scipy.linalg.solve_triangular(SPD, f32[3], lower=True)
jax.scipy.linalg.lu(f32[3,3])
jax.scipy.linalg.toeplitz(f32[3])
jax.scipy.linalg.block_diag(f32[2,2], f32[1,2])
jax.scipy.special.logsumexp(f32[4])
jax.scipy.special.softmax(f32[4])
jax.scipy.special.gammaln(f32[3 in 1 4])
jax.scipy.special.gammainc(f32[3 in 1 4], f32[3 in 1 4])
jax.scipy.special.betainc(f32[2 in 1 2], f32[2 in 1 2], f32[2 in 0 1])
jax.scipy.special.erfinv(f32[3 in -1 1])
jax.scipy.special.entr(f32[3 in 0 1])
jax.scipy.special.xlogy(f32[3 in 0 1], f32[3 in 1 2])
jax.scipy.special.zeta(f32[2 in 2 3], f32[2 in 1 2])
jax.scipy.special.polygamma(1, f32[2 in 1 2])
jax.scipy.special.i1e(f32[3])
jax.scipy.special.expit(f32[3])
jax.scipy.stats.norm.logpdf(f32[3], f32[], 2.)
jax.scipy.stats.gamma.logpdf(f32[3 in 1 2], 2.)
jax.scipy.stats.beta.pdf(f32[3 in 0 1], 2., 3.)
jax.scipy.stats.t.logpdf(f32[3], 4.)
jax.scipy.stats.multivariate_normal.logpdf(f32[3], jnp.zeros(3), SPD)
jax.scipy.stats.rankdata(f32[5]) + f32[5]
jax.scipy.signal.convolve(f32[5], f32[3], mode='same')
jax.scipy.signal.detrend(f32[5])
jax.scipy.signal.stft(f32[12], nperseg=4)[2].real
jax.scipy.fft.dct(f32[5])
jax.scipy.ndimage.map_coordinates(f32[4,4], [f32[3 in 0 3], f32[3 in 0 3]], order=1)
jax.scipy.integrate.trapezoid(f32[5], dx=.5)
jax.scipy.spatial.transform.Rotation.from_rotvec(f32[3]).as_matrix()
jax.scipy.spatial.transform.Rotation.from_euler('xyz', f32[3]).as_quat()
jax.scipy.interpolate.RegularGridInterpolator((jnp.arange(3.),), f32[3])(f32[2,1 in 0 2])
jax.nn.relu(f32[3])
jax.nn.gelu(f32[3])
jax.nn.silu(f32[3])
jax.nn.selu(f32[3])
jax.nn.softplus(f32[3])
jax.nn.log_softmax(f32[2,3])
jax.nn.softmax(f32[2,3], where=MASK)
jax.nn.standardize(f32[2,3])
jax.nn.logsumexp(f32[2,3], axis=1)
jax.nn.dot_product_attention(f32[1,2,1,4], f32[1,3,1,4], f32[1,3,1,4])
jax.image.resize(f32[4,4,1], (2, 3, 1), 'linear')
jax.image.scale_and_translate(f32[4,4], (4, 4), (0, 1), f32[2 in 1 2], f32[2], 'cubic')
lax.reduce_window(f32[6], 0., lax.add, (2,), (2,), 'VALID')
lax.conv_general_dilated(f32[1,1,6], f32[1,1,3], (1,), 'SAME')
lax.associative_scan(jnp.add, f32[5])
lax.scan(lambda c, x: (c + x, c * x), f32[], f32[4])
lax.fori_loop(0, 3, lambda i, c: c * 2 + i, f32[2])
lax.cond(True, jnp.sin, jnp.cos, f32[3])
lax.map(jnp.sin, f32[3])
lax.custom_root(lambda y: y * 2 - f32[2], f32[2], lambda f, y: y * 0, lambda g, y: y / 2)
jax.checkpoint(lambda x: jnp.sin(x) * jnp.arange(3.))(f32[3])
jax.jit(lambda x: x * jnp.fft.fftfreq(3))(f32[3])
jax.vmap(lambda x: x * jnp.fft.fftfreq(3))(f32[2,3])
jax.ops.segment_sum(f32[5], jnp.array([0, 1, 1, 2, 0]), 3)
"""

# Formulas, kernels and layouts that are chosen by size, references, and functions of functions.
LARGE_WITHOUT_DERIVATIVES = """
jax.random.bits(jax.random.wrap_key_data(u32[2]), (20000,))[::5000]
jnp.argmax(jnp.tile(f32[4], (4, 4096)), 1)
jnp.roll(jax.device_put(f32[8], LINE), 3)
jax.new_ref(f32[4]).bitcast('int32')[...]
f32[] * jax.precision(lambda x: lax.sub(lax.sqrt(lax.add(x, 1.)), 1.))(1e-4).error
"""
LARGE = """
jnp.sin(jnp.tile(f32[4], 4096))[::4096]
jnp.arctan2(jnp.tile(f32[4], 4096), 2.)[::4096]
jnp.cbrt(jnp.tile(f32[4 in 1 2], 4096))[::4096]
jnp.power(jnp.tile(f32[4 in 1 2], 4096), 1.5)[::4096]
jnp.remainder(jnp.tile(f32[4], 4096), .7)[::4096]
jnp.sort(jnp.tile(f32[4], 4096))[::4096]
jnp.cumsum(jnp.tile(f32[4], (512, 8)), 0)[-1]
lax.conv_general_dilated(f32[1,1,4,4,4], f32[1,1,2,2,2], (1, 1, 1), 'VALID')
lax.reduce_window(f32[1,6,6,1], -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID')
rnn.lstm(f32[1,2,1], f32[1,1,1], f32[1,1,1], f32[16], i32[1 in 2 2], 1, 1, 1, 0., False)[0]
jax.roll(lambda x: [x := jnp.sin(x) * jnp.cos(x) + jnp.tanh(x) for _ in range(6)][-1])(f32[3])
jax.fit_memory(lambda x: jnp.sin(x) * x, 10**6)(f32[3])
jax.freeze((lambda r: (r.reshape(2, -1).__setitem__(0, f32[3]), r)[1])(jax.new_ref(f32[6])))
"""


def further_calls() -> Iterator[Call]:
    """The calls of this table."""
    return _read((WITHOUT_DERIVATIVES, False), (DIFFERENTIABLE, True))


def large_calls() -> Iterator[Call]:
    """The calls whose operations are chosen by size, and those that transform whole functions."""
    return _read((LARGE_WITHOUT_DERIVATIVES, False), (LARGE, True))


def _read(*tables: tuple[str, bool]) -> Iterator[Call]:
    for text, derive in tables:
        for line in text.strip().splitlines():
            source, inputs = parse(line, "f32")
            smooth = tuple(name for name, value in inputs.items() if is_inexact(value))
            probes = ("value", "vmap", *(DERIVATIVES if derive and smooth else ()))
            yield Call(line, source, inputs, probes, smooth, tuple(inputs))


def calls() -> list[Call]:
    """One call of each function of the NumPy API, and the further ones."""
    first = [next((c for c in found if not c.bad), None) for found in by_function().values()]
    return [*(call for call in first if call is not None), *further_calls()]
