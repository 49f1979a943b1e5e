"""Indexing, contractions, sorting, control flow, transformations, samplers and linear algebra."""

from .rows import table

ROWS = [
    *table("indexing", """
A[n,S] -> A[S] : {0}[<0|-1>]
A[n,S] i[] -> A[S] : {0}[{1}]
A[n,S] i[a] -> A[a,S] : {0}[{1}]
B[n,S] i[a] -> B[a,S] : {0}.take({1}, axis=0, mode='<clip|wrap|fill>')
B[n,S] i[a] -> B[a,S] : {0}.at[{1}].get(mode='<clip|fill>')
A[n,S] -> A[n-1,S] : {0}[1:]
A[n,S] -> A[n,S] : {0}[::-1]
A[S,n] -> A[S,(n+1)//2] : {0}[..., ::2]
B[n,p] i[a] i[a] -> B[a] : {0}[{1}, {2}]
B[n,p] i[a] i[] -> B[a] : {0}[{1}, {2}]
B[n,p] i[a] -> B[n,1,a] : {0}[:, None, {1}]
B[S,n] i[S,a] -> B[S,a] : jnp.take_along_axis({0}, {1} % {n}, -1)
A[n,S] i[] -> A[1,S] : lax.dynamic_slice_in_dim({0}, {1}, 1)
A[n,S] i[] -> A[S] : lax.dynamic_index_in_dim({0}, {1}, keepdims=False)
A[n,S] -> A[n-1,S] : lax.slice_in_dim({0}, 1, {n})
f[n,S] f[1,S] i[] -> f[n,S] : lax.dynamic_update_slice_in_dim({0}, {1}.astype({0}.dtype), {2}, 0)
f[n,S] f[~S] i[] -> f[n,S] : {0}.at[{2}].<set|add|max|min>({1})
f[n,S] f[~S] i[a] -> f[n,S] : {0}.at[{2}].<add|max|min>({1} * 0.3)
f[n,S] f[~S] -> f[n,S] : {0}.at[<0|-1|1:|::2>].<set|add|multiply>({1} * 0.5)
f[n,S] i[] -> f[n,S] : {0}.at[{1}].<set(0.5)|add(1)|mul(0.5)|divide(2)|power(2)|apply(jnp.sin)>
f[n,p] i[a] f[] -> f[n,p] : {0}.at[:, {1}].<set|add>({2} * 0.5)
i[n,S] i[] -> i[n,S] : {0}.at[{1}].<set|add|min|max>(<3|True>)
i[n] i[a] i[] -> i[n] : {0}.at[{1}].<add|max>({2})
b[n] i[] -> b[n] : {0}.at[{1}].set(<True|False>)
b[n] -> i[2] : jnp.nonzero({0}, size=2, fill_value=0)[0]
b[a] -> i[2,1] : jnp.argwhere({0}, size=2, fill_value=-1)
f[n] f[a] -> i[a] : jnp.searchsorted(jnp.sort({0}), {1}<|, side='right'>)
f[n] f[a] -> f[a] : jnp.interp(wide({1}), jnp.arange({n}), wide({0}))
f[a] -> i[a] : jnp.digitize({0}, np.array([-0.53, 0.21, 1.07]))
i[a] -> i[4] : jnp.bincount({0} % 4, length=4)
f[n] i[n] -> f[3] : jax.ops.segment_sum({0}, {1} % 3, num_segments=3) * 0.3
f[n] i[n] -> f[3] : jnp.maximum(jax.ops.segment_max({0}, {1} % 3, num_segments=3), -2)
i[S] -> f[S,3] : jax.nn.one_hot({0}, 3)
f[a] -> i[3] f[4] : jnp.histogram({0}, bins=3, range=(-3.1, 3.1))
i[a] -> i[2] : jnp.unique({0}, size=2, fill_value=<0|None>)
i[S] -> i[S] i[S] : jnp.unravel_index({0} % 6, (2, 3))
i[n] i[a] -> b[a] : jnp.isin({1}, {0})
i[S] f[S] f[S] -> f[S] : jnp.choose({0} % 2, [{1}, {2}], mode='clip')
f[n,p] i[a] -> f[a] : jax.vmap(lambda i: {0}[i].mean())({1})
"""),
    *table("contractions", """
f[a,n] f[n,b] -> f[a,b] : <{0} @ {1}|jnp.dot({0}, {1})|jnp.matmul({0}, {1})> / {n}
f[a,n] f[n] -> f[a] : <{0} @ {1}|jnp.dot({0}, {1})> / {n}
f[n] f[n] -> f[] : jnp.<dot|vdot|inner>({0}, {1}) / {n}
f[a,n] f[b,n] -> f[a,b] : jnp.einsum('ij,kj->ik', {0}, {1}) / {n}
f[a,n] f[b,n] -> f[a,b] : jnp.inner({0}, {1}) / {n}
f[a,n] f[b,n] -> f[a,b] : lax.dot_general({0}, {1}.astype({0}.dtype), (((1,), (1,)), ((), ()))) / {n}
f[a,n] f[n,b] -> f[a,b] : lax.dot({0}, {1}.astype({0}.dtype), preferred_element_type=jnp.float32) / {n}
f[a] f[b] -> f[a,b] : jnp.<outer|multiply.outer>({0}, {1}) * 0.5
f[a,n] f[n,b] -> f[] : jnp.einsum('ij,jk->', {0}, {1}) * 0.1
f[n,n] -> f[n] : jnp.einsum('ii->i', {0})
f[n,p] f[n,p] -> f[] : jnp.tensordot({0}, {1}) / {n} / {p}
f[n,a] f[n,b] -> f[a,b] : jnp.tensordot({0}, {1}, axes=(0, 0)) / {n}
f[n,a,p] f[n,p,b] -> f[n,a,b] : jnp.matmul({0}, {1}) / {p}
f[n,p] i[p] -> f[n] : {0} @ ({1} % 3) / {p}
i[a,n] i[n] -> i[a] : ({0} % 4) @ ({1} % 4)
i[n] i[n] -> i[] : jnp.<dot|vdot>({0} % 4, {1} % 4)
b[n] b[n] -> b[] : jnp.<dot|matmul>({0}, {1})
c[a,n] f[n] -> c[a] : {0} @ {1} / {n} * 0.5
f[n] f[2] -> f[n+1] : jnp.convolve({0}, {1}) * 0.4
f[n] f[2] -> f[max(n,2)] : jnp.<convolve|correlate>({0}, {1}, mode='same') * 0.4
f[3] f[3] -> f[3] : jnp.cross({0}, {1}) * 0.4
f[2] f[n] -> f[2*n] : jnp.kron({0}, {1}) * 0.4
f[1,1,n] f[1,1,2] -> f[1,1,n] : lax.conv({0}, {1}.astype({0}.dtype), (1,), 'SAME') * 0.4
f[n,p] -> f[p,p] : jnp.cov({0} * jnp.arange(1., 1 + {p}), rowvar=False, ddof=0) * 0.1
f[n] f[a] -> f[a] : jnp.polyval({0} * 0.2, {1} * 0.4)
"""),
    *table("sorting", """
N[S,n] -> N[S,n] : jnp.sort({0}<|, axis=-1, descending=True>)
N[n,S] -> N[n,S] : lax.sort({0}, dimension=0)
N[S,n] -> i[S,n] : jnp.argsort({0}<|, descending=True>)
N[n] i[n] -> N[n] i[n] : lax.sort(({0}, {1}), num_keys=1)
f[n] f[n] -> f[n] f[n] : lax.sort_key_val({0}, {1})
N[S,n] -> N[S,1] i[S,1] : lax.top_k({0}, 1)
f[n] -> f[n] : jnp.partition({0}, 0) * 0.5 + jnp.sort({0}) * 0
i[n] f[n] -> i[n] : jnp.lexsort(({0}, {1}))
b[S,n] -> b[S,n] : jnp.sort({0})
b[n] -> i[n] : jnp.argsort({0})
i[a] i[b] -> i[2] : jnp.<union1d|setdiff1d|intersect1d>({0}, {1}, size=2, fill_value=0)
f[n] -> f[n] : {0}[jnp.argsort({0})]
"""),
    *table("control flow", """
b[] f[S] (f[S] -> f[S]) (f[S] -> f[S]) -> f[S] : lax.cond({0}, as_last({f0}), as_last({f1}), {1})
b[] f[S] i[T] (f[S] i[T] -> i[T]) (f[S] i[T] -> i[T]) -> i[T] : lax.cond({0}, as_last({f0}), as_last({f1}), {1}, {2})
b[] f[S] (f[S] -> f[]) -> f[] : lax.cond({0}, lambda: jnp.float32({f0}({1})), lambda: jnp.float32(<0.5|1>))
f[S] f[] (f[S] -> f[S]) (f[S] -> f[S]) -> f[S] : lax.cond({1} > 0.13, as_last({f0}), as_last({f1}), {0})
b[] f[S] (f[S] -> f[S]) (f[S] -> f[S]) -> f[S] : lax.cond({0}, {f0}, {f1}, {1})
i[] f[S] (f[S] -> f[S]) (f[S] -> f[S]) (f[S] -> f[S]) -> f[S] : lax.switch({0}, [as_last({f0}), as_last({f1}), as_last({f2})], {1})
f[S] (i[] f[S] -> f[S]) -> f[S] : lax.fori_loop(<0|1>, 3, as_last({f0}), {0})
f[S] (i[] f[S] -> f[S]) -> f[S] : lax.fori_loop(0, 2, {f0}, {0})
f[S] i[] (i[] f[S] -> f[S]) -> f[S] : lax.fori_loop(0, {1} % 4, as_last({f0}), {0})  ! forward
i[S] (i[] i[S] -> i[S]) -> i[S] : lax.fori_loop(0, 3, as_last({f0}), {0})
f[S] (f[S] -> f[S]) -> f[S] : lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, as_last({f0})(s[1])), (0, {0}))[1]  ! forward
f[S] (f[S] -> f[S]) -> f[S] : lax.while_loop(lambda s: (s[0] < 3) & (jnp.sum(jnp.abs(s[1])) < 2.171), lambda s: (s[0] + 1, as_last({f0})(s[1])), (0, {0}))[1]  ! forward
i[] (i[] -> i[]) -> i[] : lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, as_last({f0})(s[1])), (0, {0}))[1]
f[S] f[n,T] (f[S] f[T] -> f[S] f[T]) -> f[S] f[n,T] : lax.scan(carried({f0}), {0}, {1}<|, reverse=True|, unroll=2>)
f[S] i[n] (f[S] i[] -> f[S] f[]) -> f[S] f[n] : lax.scan(carried({f0}), {0}, {1})
f[S] f[n,T] (f[S] f[T] -> f[S] i[]) -> f[S] i[n] : lax.scan(carried({f0}), {0}, {1})
f[S] f[n,T] (f[S] f[T] -> f[S] f[S]) -> f[S] f[n,S] : lax.scan({f0}, {0}, {1})
i[] f[n,T] (i[] f[T] -> i[] f[]) -> i[] f[n] : lax.scan(carried({f0}), {0}, {1})
f[n,S] (f[S] -> f[S]) -> f[n,S] : lax.map({f0}, {0}<|, batch_size=2>)
f[a,S] (f[S] -> f[]) -> f[a] : lax.map({f0}, {0})
k[] f[S] (k[] f[S] -> f[S]) -> f[S] : lax.scan(lambda c, k: (as_last({f0})(k, c), None), {1}, random.split({0}, 2))[0]
f[S] -> f[S] : lax.custom_root(lambda y: y ** 3 + y - {0}, jnp.zeros_like({0}), lambda f, y: lax.fori_loop(0, 8, lambda i, y: y - f(y) / (3 * y * y + 1), y), lambda g, y: y / g(jnp.ones_like(y)))
"""),
    *table("transformations", """
f[S] (f[S] -> f[S]) -> f[S] : jax.jit({f0})({0})
f[S] i[T] (f[S] i[T] -> f[S] i[T]) -> f[S] i[T] : jax.jit({f0})({0}, {1})
b[] (b[] -> f[]) -> f[] : jax.jit({f0})({0})
f[S] (f[S] -> f[S]) -> f[S] : jax.jit(jax.jit({f0}, inline=True))({0})
f[S] (f[S] -> f[S]) -> f[S] : jax.checkpoint({f0})({0})
f[S] (f[S] -> f[S]) -> f[S] : jax.checkpoint({f0}, policy=jax.checkpoint_policies.<dots_saveable|everything_saveable|nothing_saveable>)({0})
f[S] (f[S] -> f[S]) -> f[S] : with_jvp({f0})({0})  ! closed
f[S] (f[S] -> f[S]) -> f[S] : with_jvps({f0})({0})  ! closed
f[S] (f[S] -> f[S]) -> f[S] : with_vjp({f0})({0})  ! closed reverse
f[S] (f[S] -> f[S]) -> f[S] : with_static_vjp({f0})({0})  ! closed reverse
f[n,S] (f[S] -> f[S]) -> f[n,S] : jax.vmap({f0})({0})
f[S,n] (f[S] -> f[]) -> f[n] : jax.vmap({f0}, in_axes=-1)({0})
f[n,S] f[T] (f[S] f[T] -> f[S]) -> f[S,n] : jax.vmap({f0}, in_axes=(0, None), out_axes=-1)({0}, {1})
i[n,S] (i[S] -> i[S]) -> i[n,S] : jax.vmap({f0})({0})
f[n] (f[] -> f[]) -> f[n] : jax.vmap(jax.grad({f0}))({0})
f[S] (f[S] -> f[]) -> f[S] : jnp.tanh(jax.grad({f0})({0}))
f[S] (f[S] -> f[]) -> f[] f[S] : jax.value_and_grad({f0})({0})
f[S] (f[S] -> f[S]) -> f[S] : jnp.tanh(jax.jvp({f0}, ({0},), (jnp.ones_like({0}),))[1])
f[S] (f[S] -> f[S]) -> f[S] : jnp.tanh(jax.linearize({f0}, {0})[1]({0} * 0.5))
f[S] (f[S] -> f[S]) -> f[S] : jnp.tanh(pulled({f0})({0}))
f[2] (f[2] -> f[2]) -> f[2,2] : jnp.tanh(jax.<jacfwd|jacrev>({f0})({0}))
f[2] (f[2] -> f[]) -> f[2,2] : jnp.tanh(jax.hessian({f0})({0}))
f[n] -> f[n] : jax.vmap(lambda x: x * 0.5 + lax.<psum|pmean>(x, 'i') * 0.1, axis_name='i')({0})
f[n] -> i[n] : jax.vmap(lambda x: lax.axis_index('i'), axis_name='i')({0})
"""),
    *table("random", """
k[] -> f[3] : random.normal({0}, 3<|, '{d}'>) * 0.5
k[] -> f[2,3] : random.<uniform|normal>({0}, (2, 3)) * 0.5
k[] f[S] -> f[S] : random.<uniform|normal>({0}, {S}, {1}.dtype) * {1} * 0.5
k[] -> f[] : random.<uniform|normal|exponential|gumbel|laplace|logistic>({0}) * 0.1
k[] -> f[3] : random.truncated_normal({0}, -1, 1, (3,))
k[] -> f[3] : random.uniform({0}, (3,), minval=<-1|-1.5>, maxval=2)
k[] -> i[3] : random.randint({0}, (3,), <0|-2>, <5|7><|, '{e}'>)
k[] i[] -> i[3] : random.randint({0}, (3,), 0, {1} % 5 + 1)
k[] -> b[3] : random.bernoulli({0}, <0.5|0.3>, (3,))
k[] f[S] -> b[S] : random.bernoulli({0}, jax.nn.sigmoid({1}))
k[] -> i[3] : random.permutation({0}, 3)
k[] N[n,S] -> N[n,S] : random.permutation({0}, {1})
k[] N[n] -> N[2] : random.choice({0}, {1}, (2,))
k[] f[n] -> i[] : random.categorical({0}, {1})
k[] -> k[2] : random.split({0})
k[] -> k[] : random.split({0}, 3)[<0|1>]
k[] i[] -> k[] : random.fold_in({0}, {1})
k[] -> k[] k[] : random.split({0})
k[n] -> f[n] : jax.vmap(random.<normal|uniform>)({0}) * 0.5
k[] -> i[2] : random.key_data({0})
k[] -> i[2] : random.bits({0}, (2,)<|, 'uint8'|, 'uint16'>)
i[] -> k[] : random.key({0} % 9)
k[n] b[] -> k[n] : jnp.where({1}, {0}, {0}[::-1])
"""),
    *table("linear algebra", """
f[S,n,n] -> f[S,n,n] : jnp.linalg.inv(wide({0}) * 0.1 + 2 * jnp.eye({n}))
f[n,n] f[n] -> f[n] : jnp.linalg.solve(wide({0}) * 0.1 + 2 * jnp.eye({n}), wide({1}))
f[n,n] f[n,a] -> f[n,a] : jnp.linalg.solve(wide({0}) * 0.1 + 2 * jnp.eye({n}), wide({1}))
f[S,n,n] -> f[S] : jnp.linalg.det(wide({0}) * 0.1 + jnp.eye({n}))
f[n,n] -> f[] f[] : jnp.linalg.slogdet(wide({0}) * 0.1 + 2 * jnp.eye({n}))
f[n,n] -> f[n,n] : jnp.linalg.cholesky(wide({0} @ {0}.T) * 0.1 + jnp.eye({n}))
f[n,n] -> f[n] : jnp.linalg.eigvalsh(wide({0} + {0}.T) * 0.05 + jnp.diag(jnp.arange(1., 1 + {n})))
f[n,n] -> f[n] : jnp.linalg.svd(wide({0}) * 0.05 + jnp.diag(jnp.arange(1., 1 + {n})), compute_uv=False)
f[n,n] -> f[n,n] : abs(jnp.linalg.qr(wide({0}) * 0.05 + jnp.diag(jnp.arange(1., 1 + {n})))[<0|1>])
f[n,n] -> f[n,n] : jax.scipy.linalg.expm(wide({0}) * 0.2) * 0.3
f[n,n] f[n] -> f[n] : jax.scipy.linalg.solve_triangular(wide({0}) * 0.1 + 2 * jnp.eye({n}), wide({1}), lower=<True|False>)
f[n,n] f[n] -> f[n] : jax.scipy.linalg.solve(wide({0} @ {0}.T) * 0.1 + 2 * jnp.eye({n}), wide({1}), assume_a='pos')
f[n,n] -> f[n,n] : jnp.linalg.<pinv|inv>(wide({0}) * 0.1 + 2 * jnp.eye({n}))
f[n,n] -> f[n,n] : jnp.linalg.matrix_power({0} * 0.4, <2|3|0>)
f[n,n] f[n] -> f[n] : jnp.linalg.lstsq(wide({0}) * 0.1 + 2 * jnp.eye({n}), wide({1}))[0]
f[n,p] -> f[] : jnp.linalg.norm({0} + 0.1<|, 1|, jnp.inf>) * 0.2
f[n,n] -> i[] : jnp.linalg.matrix_rank(wide({0}) * 0.1 + 2 * jnp.eye({n}))
f[n,n] f[n] -> f[n] : jax.scipy.sparse.linalg.cg(lambda v: wide({0} @ {0}.T) @ v * 0.1 + 2 * v, wide({1}))[0]
"""),
]  # fmt: skip
