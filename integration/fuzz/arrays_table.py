"""Operations on arrays. Floats stay within about -3 to 3, so that no rounding decides a result.

Arguments of `log`, `sqrt` and divisions are kept away from 0, and sums are scaled by their length.
"""

from .rows import table

ROWS = [
    *table("elementwise", """
f[S] -> f[S] : jnp.<sin|cos|tanh|arctan|sinc|abs|negative|sign|positive|nan_to_num>({0})
f[S] -> f[S] : lax.<sin|cos|tanh|logistic|erf|neg|abs|sign|atan|asinh>({0})
f[S] -> f[S] : jnp.<exp|exp2|expm1|sinh|cosh|tan>({0} * 0.3)
f[S] -> f[S] : jnp.<log|log2|log10|log1p|sqrt|cbrt|reciprocal>({0} * {0} + 0.5)
f[S] -> f[S] : lax.<log|log1p|sqrt|rsqrt|cbrt>({0} * {0} + jnp.ones_like({0}))
f[S] -> f[S] : jnp.<arcsin|arccos|arctanh>(jnp.tanh({0}) * 0.8)
f[S] -> f[S] : jax.nn.<relu|sigmoid|softplus|gelu|silu|elu|selu|celu|leaky_relu>({0})
f[S] -> f[S] : jax.nn.<soft_sign|hard_tanh|log_sigmoid|mish|relu6|squareplus|hard_sigmoid|hard_silu>({0})
f[S] -> f[S] : jax.scipy.special.<erf|erfc|i0e|i1e|expit|log_ndtr|ndtr|entr>({0} * {0} + 0.5)
f[S] -> f[S] : jax.scipy.special.<gammaln|digamma>({0} * {0} + 1.) * 0.2
f[S] f[~S] -> f[S] : jax.scipy.special.<xlogy|xlog1py>({0}, {1} * {1} + 0.5)
f[S] -> f[S] : jnp.square({0} * {c})
f[S] -> f[S] : {0} ** <2|3|0|1> * 0.2
f[S] -> f[S] : ({0} * {0} + 0.5) ** <-1|0.5|-0.5>
f[S] -> f[S] : lax.integer_pow({0}, <2|3|0>) * 0.2
f[S] f[~S] -> f[S] : {0} * {1} * 0.5
f[S] f[~S] -> f[S] : ({0} + {1}) / 2
f[S] f[~S] -> f[S] : {1} * 0.5 - {0}
f[S] f[~S] -> f[S] : {0} / (1.5 + {1} * {1})
f[S] f[~S] -> f[S] : jnp.<maximum|minimum|fmax|fmin>({0}, {1})
f[S] f[~S] -> f[S] : jnp.<arctan2|hypot|logaddexp|logaddexp2>({0}, {1} + 4) * 0.4
f[S] f[~S] -> f[S] : jnp.<power|float_power>({0} * {0} + 0.5, {1} * 0.3) * 0.3
f[S] f[~S] -> f[S] : jnp.<mod|remainder|fmod>({0}, {1} * {1} + 1.37)
f[S] f[S] -> f[S] : lax.<add|mul|sub|max|min>({0}, {1}.astype({0}.dtype)) * 0.4
f[S] -> f[S] : {0} <+|*|-> <1|0.5|True|2>
f[S] -> f[S] : <1|0.5|True|-2> <+|*|-> {0}
f[S] -> f[S] : <1|0.5|True|-2> / ({0} * {0} + 0.7)
f[S] -> f[S] : {0} <+|*|-> np.<float32|float64|int32|int8>(<1|2>)
f[S] -> f[S] : jnp.clip({0}, <-0.5|-1>, <0.5|1|None>)
f[S] -> f[S] : jnp.clip({0}, max={c})
f[S] -> f[S] : jnp.where({0} > 0.123, {0}, <0|0.5|-1.>)
f[S] -> f[S] : jnp.where({0} > 0.123, <0|0.5|True>, {c})
b[S] f[~S] f[~S] -> f[S] : jnp.where({0}, {1}, {2})
b[S] f[~S] i[~S] -> f[S] : jnp.where({0}, {1}, {2} % 5)
b[S] f[S] f[S] -> f[S] : lax.select({0}, {1}, {2}.astype({1}.dtype))
b[S] f[S] f[S] -> f[S] : jnp.select([{0}, {1} > 0.2], [{1}, {2}], {c})
f[S] -> f[S] : jnp.piecewise({0}, [{0} < -0.41, {0} > 0.51], [lambda x: x * 2, 0.5, lambda x: x * x])
f[S] -> f[S] : jnp.<floor|ceil|round|trunc|rint>({0} * 1.7 + 0.31)
f[S] -> f[S] : lax.<floor|ceil|round>({0} * 1.7 + jnp.full_like({0}, 0.31))
f[S] -> f[S] f[S] : jnp.modf({0} * 1.7 + 0.31)
f[S] -> f[S] i[S] : jnp.frexp({0} * {0} + 0.3)
f[S] i[~S] -> f[S] : jnp.ldexp({0} * 0.2, {1} % 3)
f[S] -> f[S] : lax.stop_gradient({0})
f[S] -> f[S] : lax.optimization_barrier({0})
f[S] -> f[S] : jnp.vectorize(lambda x: x * 0.5)({0})
"""),
    *table("conversions", """
f[S] -> f[S] : {0}.astype('<float32|bfloat16|float16|float64>')
f[S] -> f[S] : jnp.<float32|float64|bfloat16>({0})
f[S] -> f[S] : jnp.asarray({0}, dtype=<float|'{d}'>)
f[S] -> f[S] : lax.convert_element_type({0}, <float|'{d}'|jnp.float32>)
f[S] f[~S] -> f[S] : {0}.astype(jnp.result_type({0}, {1}))
f[S] -> i[S] : jnp.round({0} * 3.1).astype('<int32|int8|int64|int16>')
f[S] -> i[S] : jnp.round(abs({0}) * 3.1).astype('<uint8|uint32|uint16>')
f[S] -> i[S] : jnp.floor({0} * 3.1 + 0.21).astype(int)
f[S] -> b[S] : ({0} > 0.17).astype(bool)
i[S] -> f[S] : ({0} % 5).astype(<float|'{d}'>) * 0.4
i[S] -> i[S] : {0}.astype(<int|'{e}'>)
i[S] -> b[S] : {0}.astype(bool)
i[S] -> f[S] : {0} % 5 <*|+|-> <0.5|1.>
i[S] -> f[S] : jnp.<sin|cos|tanh|sqrt|arctan|expm1>({0} % 3)
i[S] -> f[S] : jax.nn.<softplus|elu>({0} % 3)
i[S] -> f[S] : {0} % 5 / 3
i[S] i[~S] -> f[S] : ({0} % 5) / ({1} % 3 + 2)
i[S] i[~S] -> f[S] : jnp.<arctan2|hypot|logaddexp|true_divide>({0} % 5, {1} % 3 + 1) * 0.4
f[S] i[~S] -> f[S] : {0} <*|+|-> ({1} % 3)
f[S] i[~S] -> f[S] : {0} ** ({1} % 3) * 0.2
f[S] b[~S] -> f[S] : {0} <*|+|-> {1}
b[S] -> f[S] : {0} <*|+|-> <0.5|1.>
b[S] -> f[S] : jnp.<sin|cos|sqrt|exp>({0}) * 0.5
b[S] -> f[S] : {0}.astype(<float|'{d}'>)
b[S] -> i[S] : {0}.astype(<int|'{e}'>)
b[S] -> i[S] : {0} <*|+|-|**> 2
b[S] i[~S] -> i[S] : {0} <*|+> {1}
-> f[] : jnp.asarray({c})
-> f[] : jnp.asarray(jnp.pi)
-> i[] : jnp.asarray(<2|np.int8(3)|True + 1>)
-> i[3] : jnp.arange(3)
-> i[3] : lax.iota('{e}', 3)
-> f[3] : jnp.linspace(-1, 1, 3)
-> f[3] : jnp.<arange(0., 1.5, 0.5)|array([0.5, -1, 2])|ones(3)|full(3, 0.7)|logspace(-1, 0, 3)>
-> f[2,3] : jnp.<full((2, 3), 0.5)|eye(2, 3)|tri(2, 3)|zeros((2, 3), '{d}')>
-> f[0] : jnp.<zeros(0)|array([])|arange(0.)>
f[S] -> f[S] : jnp.<ones|zeros>_like({0})
f[S] -> f[S] : jnp.full_like({0}, <1|0.5|True>)
f[S] -> i[S] : jnp.full_like({0}, 2, dtype='{e}')
"""),
    *table("integers", """
i[S] i[~S] -> i[S] : {0} <+|-|*|&|^> {1}
i[S] i[~S] -> i[S] : jnp.bitwise_or({0}, {1})
i[S] i[~S] -> i[S] : {0} // ({1} % 3 + 1)
i[S] i[~S] -> i[S] : {0} % ({1} % 3 + 2)
i[S] i[~S] -> i[S] : jnp.<maximum|minimum|gcd>({0}, {1})
i[S] i[~S] -> i[S] : jnp.<floor_divide|mod|fmod>({0}, {1} % 3 + 1)
i[S] i[~S] -> i[S] : jnp.<left_shift|right_shift>({0}, {1} % 3)
i[S] -> i[S] : {0} << 1
i[S] -> i[S] : {0} >> 1
i[S] -> i[S] : {0} <+|-|*|//|%> <3|1|2>
i[S] -> i[S] : <3|1|True> <+|-|*> {0}
i[S] -> i[S] : ({0} % 4) ** 2
i[S] -> i[S] : jnp.<negative|abs|sign|square|bitwise_not|invert|bitwise_count>({0})
i[S] -> i[S] : lax.<population_count|clz|neg|bitwise_not>({0})
i[S] -> i[S] : jnp.clip({0}, <0|1>, <3|5>)
i[S] -> i[S] i[S] : jnp.divmod({0}, 3)
i[S] i[S] -> i[S] : lax.<add|mul|max|min>({0}, {1}.astype({0}.dtype))
b[S] i[~S] i[~S] -> i[S] : jnp.where({0}, {1}, {2})
b[S] -> i[S] : jnp.where({0}, <1|2>, <3|False>)
i[S] i[~S] -> b[S] : jnp.<equal|not_equal|less|greater_equal>({0}, {1})
i[S] i[~S] -> b[S] : {0} == {1}
i[S] i[~S] -> b[S] : {0} < {1}
i[S] -> b[S] : {0} != <2|3|1.5>
i[S] -> b[S] : {0} <= <2|3|1.5>
i[S] -> b[S] : ({0} & 1) == 1
f[S] f[~S] -> b[S] : {0} <= {1} + 0.371
f[S] f[~S] -> b[S] : {0} > {1} + 0.371
f[S] -> b[S] : {0} < <0.17|-0.33>
f[S] -> b[S] : jnp.<isfinite|isnan|isinf|signbit>({0} + 0.317)
f[S] -> b[S] : jnp.isclose({0}, {0})
b[S] b[~S] -> b[S] : {0} <&|^> {1}
b[S] b[~S] -> b[S] : jnp.<logical_or|logical_and|logical_xor|bitwise_or|maximum|add|multiply>({0}, {1})
b[S] -> b[S] : ~{0}
b[S] -> b[S] : jnp.<logical_not|invert|positive>({0})
f[S] -> b[S] : jnp.logical_not({0} > 0.21)
"""),
    *table("complex", """
f[S] f[~S] -> c[S] : {0} + 0.5j * {1}
f[S] f[S] -> c[S] : lax.complex(wide({0}), {1}.astype(wide({0}).dtype))
f[S] -> c[S] : {0}.astype(<complex|'complex64'>)
f[S] -> c[S] : jnp.exp(0.3j * {0})
c[S] -> f[S] : jnp.<real|imag>({0})
c[S] -> f[S] : abs({0} + 3.5) * 0.4
c[S] -> f[S] : jnp.angle({0} + 3.5)
c[S] -> c[S] : jnp.<conj|sin|cos|tanh|negative>({0} * 0.3)
c[S] -> c[S] : jnp.<sqrt|log|reciprocal>({0} * 0.3 + 2.5)
c[S] c[~S] -> c[S] : {0} <*|+|-> {1} * 0.3
c[S] f[~S] -> c[S] : {0} <*|+|-> {1} * 0.3
c[S] -> c[S] : {0} <*|+|-> <0.5|1|0.5j|True>
c[P,n] -> c[P] : jnp.<mean|sum>({0}, axis=-1) / {n}
f[P,n] -> c[P,n] : jnp.fft.<fft|ifft>(wide({0})) / {n}
c[P,n] -> c[P,n] : jnp.fft.<fft|ifft>({0}) / {n}
f[P,n] -> c[P,n//2+1] : jnp.fft.rfft(wide({0})) / {n}
c[P,n] -> f[P,n] : jnp.fft.irfft({0}, {n})
f[n] -> f[n] : {0} * jnp.fft.fftfreq({n})
f[n] -> f[n] : jnp.fft.<fftshift|ifftshift>({0})
c[S] c[~S] -> b[S] : {0} != {1} + 0.5
"""),
    *table("reductions", """
f[P,n] -> f[P] : jnp.<mean|max|min|median|amax|nanmean|nanmax|ptp>({0}, axis=-1)
f[n,P] -> f[P] : jnp.<mean|max|min>({0}, 0)
f[n,P] -> f[1,P] : jnp.<mean|max|min>({0}, axis=0, keepdims=True)
f[P] -> f[] : jnp.<mean|max|min|ptp>({0})
f[P,n] -> f[P] : jnp.<std|var>({0} * jnp.arange(1, {n} + 1), axis=-1) / {n}
f[S,n] -> f[S] : jnp.sum({0}, axis=-1) / {n}
f[S] -> f[] : jnp.sum({0}) * 0.2
f[S,n] -> f[S] : jnp.sum({0}, -1, dtype='{d}') * 0.3
f[S,n] b[~S] -> f[S] : jnp.sum({0}, -1) * {1} * 0.3
f[S] b[~S] -> f[] : jnp.sum({0}, where={1}) * 0.2
f[S] b[~S] -> f[] : jnp.max({0}, where={1}, initial=<-3|-3.>)
f[S,n] -> f[S] : jnp.<prod|nanprod>({0} * 0.4, axis=-1)
f[S] -> f[] : jnp.max({0}, initial=<-1|-1.>)
f[P] -> f[] : jnp.linalg.norm({0} + 0.1) * 0.3
f[P,n] -> f[P] : jax.nn.logsumexp({0}, axis=-1) * 0.5
f[P,n] -> f[P,n] : jax.nn.<softmax|log_softmax>({0} * 0.5)
f[P,n] -> f[P,n] : jax.nn.standardize({0} * jnp.arange(1, {n} + 1))
f[S,n] -> f[S,n] : jnp.<cumsum|nancumsum>({0}, axis=-1) / {n}
f[S,n] -> f[S,n] : jnp.cumprod({0} * 0.5, axis=-1)
f[S,n] -> f[S,n] : lax.<cummax|cummin|cumsum|cumlogsumexp>({0}, len({S})) * 0.4
f[n,S] -> f[n,S] : lax.associative_scan(<jnp.add|jnp.maximum>, {0}) * 0.4
f[P,n] -> f[P] : jnp.<quantile|nanquantile>({0}, <0.3|0.5>, axis=-1)
f[P,n] -> f[P] : jnp.average({0}, axis=-1, weights=jnp.arange(1, {n} + 1))
f[n,S] -> f[S] : lax.reduce_<max|min>({0}, (0,))
f[n,S] -> f[S] : lax.reduce({0}, jnp.asarray(0, {0}.dtype), lax.add, (0,)) / {n}
f[n] -> f[n] : lax.reduce_window({0}, <0.|np.float32(0)>, lax.add, (2,), (1,), 'SAME') / 2
N[P,n] -> i[P] : jnp.<argmax|argmin>({0}, axis=-1)
N[P] -> i[] : jnp.argmax({0})
i[S,n] -> i[S] : jnp.<sum|prod>({0} % 4, axis=-1)
i[S] -> i[] : jnp.sum({0})
i[P] -> i[] : jnp.<max|min|ptp>({0})
i[P,n] -> f[P] : jnp.<mean|std|var|median>({0} % 5, axis=-1)
i[S,n] -> i[S,n] : jnp.<cumsum|cumprod>({0} % 4, axis=-1)
b[S,n] -> b[S] : jnp.<any|all>({0}, axis=-1)
b[S] -> i[] : jnp.<sum|count_nonzero>({0})
b[P] -> f[] : jnp.<mean|std>({0})
b[S,n] -> i[S,n] : jnp.cumsum({0}, -1)
b[P] -> i[] : jnp.argmax({0})
"""),
    *table("shapes", """
A[S] -> A[size(S)] : {0}.<ravel()|reshape(-1)>
A[S] -> A[S,1] : {0}[..., None]
A[S] -> A[1,S] : jnp.expand_dims({0}, 0)
A[1,S] -> A[S] : jnp.squeeze({0}, 0)
A[S] -> A[2,S] : jnp.<broadcast_to({0}, (2,) + {S})|stack([{0}, {0}])>
A[a,b] -> A[b,a] : {0}<.T|.transpose(1, 0)|.mT|.swapaxes(0, 1)>
A[a,S] -> A[S,a] : jnp.moveaxis({0}, 0, -1)
A[a,b] -> A[b*a] : jnp.reshape({0}, (-1,), order='<F|C>')
A[a,b] -> A[b,a] : {0}.reshape({b}, {a})
A[a,S] -> A[2*a,S] : jnp.concatenate([{0}, {0}])
N[a,S] N[b,S] -> N[a+b,S] : jnp.concatenate([{0}, {1}])
f[S] f[S] -> f[2,S] : jnp.stack([{0}, {1}])
f[S] i[S] -> f[S,2] : jnp.stack([{0}, {1} % 3], axis=-1)
B[a] -> B[2*a] : jnp.<tile|repeat>({0}, 2)
B[S,n] -> B[S,n] : jnp.<flip({0}, -1)|roll({0}, 1, axis=-1)>
B[S,n] i[] -> B[S,n] : jnp.roll({0}, {1}, -1)
B[n,S] -> B[n,S] : jnp.flip({0}, 0)
B[n,S] -> B[n,S] : lax.rev({0}, (0,))
B[a] -> B[a+2] : jnp.pad({0}, 1)
B[n] -> B[n+2] : jnp.pad({0}, 1, mode='<edge|wrap>')
f[a] -> f[a+1] : jnp.pad({0}, (1, 0), constant_values=<0.5|1>)
f[a] -> f[a+1] : lax.pad({0}, jnp.asarray(0.5, {0}.dtype), ((0, 1, 0),))
f[a] -> f[a,a] : jnp.diag({0})
f[n,n] -> f[n] : jnp.diag({0})
f[n,n] -> f[] : jnp.trace({0}) * 0.3
B[a,b] -> B[a,b] : jnp.<tril|triu>({0})
f[S,n] -> f[S,n-1] : jnp.diff({0}) * 0.5
f[n] -> f[n+1] : jnp.append({0}, 0.5)
f[n] -> f[n+1] : jnp.insert({0}, 0, <0.5|1>)
A[n,S] -> A[1,S] : jnp.split({0}, {n})[0]
A[2,S] -> A[S] A[S] : {0}
B[S] -> B[S] : jnp.<array|asarray|copy>({0})
B[a,b] -> B[b,a] : jnp.rot90({0})
B[S] -> B[2] : jnp.resize({0}, (2,))
A[S] -> A[S] : jax.tree.map(lambda a: a, {{'a': {0}}})['a']
"""),
]  # fmt: skip
