"""References, policies of checkpoints, named axes, devices; narrow, ragged and sparse arrays."""

from .rows import table

ROWS = [
    *table("references", """
f[S] (f[S] -> f[S]) -> f[S] : through_ref({f0}, jnp.asarray({0}))
f[n,S] (f[S] -> f[S]) -> f[S] : accumulated({f0}, {0})  ! global
f[n,S] (f[S] -> f[S]) -> f[n,S] : written({f0}, {0})  ! global
f[n,S] (f[S] -> f[S]) -> f[n,S] : jax.vmap(lambda x: through_ref({f0}, x))({0})
b[] f[S] (f[S] -> f[S]) -> f[S] : written_by_branch({0}, {f0}, jnp.asarray({1}))
f[S] (f[S] -> f[S]) -> f[S] : passed_ref({f0}, jnp.asarray({0}))
f[n,S] i[] f[~S] -> f[n,S] f[S] : swapped({0}, {1} % {n}, {2})
i[n,S] i[] i[~S] -> i[n,S] i[S] : swapped({0}, {1} % {n}, {2})
i[S] (i[S] -> i[S]) -> i[S] : through_ref({f0}, jnp.asarray({0}))
"""),
    *table("policies", """
f[S] (f[S] -> f[S]) -> f[S] : jax.checkpoint(lambda x: jnp.sin(checkpoint_name({f0}(x), 'a')) * x, policy=jax.checkpoint_policies.<save_only_these_names('a')|save_any_names_but_these('a')|save_anything_except_these_names('a')>)({0})
f[S] (f[S] -> f[S]) -> f[S] : jax.checkpoint(lambda x: {f0}(checkpoint_name(x * 0.5, 'a')), policy=jax.checkpoint_policies.<dots_with_no_batch_dims_saveable|save_from_both_policies(jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies.save_only_these_names('a'))>)({0})
f[S] (f[S] -> f[S]) -> f[S] : jax.checkpoint({f0}, prevent_cse=False)({0})
f[n,S] f[S] (f[S] f[S] -> f[S]) -> f[S] : lax.scan(jax.checkpoint(lambda c, x: (like({f0}(c, x), c), None), prevent_cse=False), {1}, {0})[0]
f[S] (f[S] -> f[S]) -> f[S] : jax.checkpoint(lambda x, k: {f0}(x) * k, static_argnums=(1,))({0}, 2)
"""),
    *table("rules", """
f[n,S] (f[S] -> f[S]) -> f[n,S] : jax.vmap(with_vmap({f0}))({0})  ! closed
f[S] (f[S] -> f[S]) -> f[S] : with_vmap({f0})({0})  ! closed
f[n] (f[n] -> f[n]) -> f[n] : solved({f0}, wide({0}))
f[S] (f[S] -> f[S]) -> f[S] : transposed({f0}, jnp.asarray({0}))
i[n] -> i[n] : by_numpy({0}.astype('float32'), '<sequential|expand_dims|broadcast_all>').astype('int32')
f[S] (f[S] -> f[S]) -> f[S] : jax.custom_batching.sequential_vmap({f0})({0})  ! closed
f[S] (f[S] -> f[S]) -> f[S] : jax.named_call({f0}, name='part')({0})
f[S] (f[S] -> f[S]) -> f[S] : lax.platform_dependent({0}, cpu=as_last({f0}), default=lambda x: x)
f[S] (f[S] -> f[S]) -> f[S] f[S] : jax.vjp({f0}, jnp.asarray({0}))[1](like({f0}({0}), {f0}({0})))[0], {0} * 2
"""),
    *table("named axes", """
f[n,p,S] (f[S] -> f[S]) -> f[n,p,S] : jax.vmap(jax.vmap(lambda x: {f0}(x) + lax.<psum|pmean|pmax|pmin>(x, <'i'|'j'|('i', 'j')|('j', 'i')>) * 0.1, axis_name='j'), axis_name='i')({0})
f[n,p] -> f[n,p,n] : jax.vmap(jax.vmap(lambda x: lax.all_gather(x, 'i'), axis_name='j'), axis_name='i')({0})
f[n,p] -> f[n,p] : jax.vmap(jax.vmap(lambda x: lax.<ppermute(x, 'i', [(k, (k + 1) % {n}) for k in range({n})])|pshuffle(x, 'j', list(range({p}))[::-1])|pcast(x, (), to='varying')>, axis_name='j'), axis_name='i')({0})
f[n,n] -> f[n,n] : jax.vmap(lambda x: lax.all_to_all(x, 'i', 0, 0), axis_name='i')({0})
f[n,n] -> f[n] : jax.vmap(lambda x: lax.psum_scatter(x, 'i') * 0.3, axis_name='i')({0})
f[n,p] -> i[n,p] : jax.vmap(jax.vmap(lambda x: lax.axis_index(<'i'|'j'|('i', 'j')|('j', 'i')>), axis_name='j'), axis_name='i')({0})
f[n,S] (f[S] -> f[S]) -> f[n,S] : jax.vmap(lambda x: lax.scan(lambda c, _: (c * 0.5 + lax.pmean(like({f0}(c), c), 'i') * 0.3, None), x, None, length=2)[0], axis_name='i')({0})
f[n,S] (f[S] -> f[S]) -> f[n,S] : jax.vmap(lambda x: jnp.tanh(jax.grad(lambda y: jnp.sum(lax.pmean({f0}(y), 'i')))(x)), axis_name='i')({0})
f[n,S] b[n] (f[S] -> f[S]) -> f[n,S] : jax.vmap(lambda x, p: lax.cond(p, as_last({f0}), lambda x: x * 0.5, x) - lax.pmean(x, 'i'), axis_name='i')({0}, {1})
f[n,p,S] (f[S] -> f[S]) -> f[n,p,S] : jax.vmap(jax.vmap(lambda x: jax.checkpoint(lambda y: {f0}(lax.pmean(y, 'j')))(x), axis_name='j'), axis_name='i')({0})
i[n] -> i[n] : jax.vmap(lambda x: lax.<psum|pmax|pmin>(x % 5, 'i'), axis_name='i')({0})
i[n] -> i[] : jax.vmap(lambda x: lax.psum(1, 'i') + x % 2, axis_name='i')({0}).sum()
k[] f[n] -> f[n] : jax.vmap(lambda x: x * random.uniform(random.fold_in({0}, lax.axis_index('i'))), axis_name='i')({1})
"""),
    *table("devices", """
f[2,S] (f[S] -> f[S]) -> f[2,S] : over_devices({f0}, {0}<|, check=False>)  ! devices
f[3,S] (f[S] -> f[S]) -> f[3,S] : over_devices({f0}, {0}<|, check=False>)  ! devices
f[2,S] f[T] (f[S] f[T] -> f[S]) -> f[2,S] : over_devices({f0}, {0}, jnp.asarray({1}))  ! devices
f[2,S] (f[S] -> f[S]) -> f[S] : summed_over_devices({f0}, {0})  ! devices
f[2,2,S] (f[S] -> f[S]) -> f[2,2,S] : over_two({f0}, {0})  ! devices
f[2,3,S] (f[S] -> f[S]) -> f[2,3,S] : over_two({f0}, {0})  ! devices
f[2,S] (f[S] -> f[S]) -> f[2,S] : jax.jit(lambda x: manual_in_part({f0}, x))({0})  ! devices
f[2,S] -> f[2,S] : exchanged(lambda x: lax.<ppermute(x, 'd', [(0, 1), (1, 0)])|ppermute(x, 'd', [(0, 1)])|pmax(x, 'd') + x|psum(x, 'd') * x>, {0})  ! devices
f[3,3] -> f[3,3] : exchanged(lambda x: lax.all_to_all(x, 'd', 1, 1, tiled=True), {0})  ! devices
f[2,2] -> f[2,1] : exchanged(lambda x: lax.psum_scatter(x[0], 'd', tiled=True)[None], {0})  ! devices
f[2,n] -> f[4,n] : exchanged(lambda x: lax.all_gather(x, 'd', tiled=True), {0})  ! devices
f[3,S] -> f[3,S] : exchanged(lambda x: x * 0.5 + lax.axis_index('d'), {0})  ! devices
f[2,S] (f[S] -> f[S]) -> f[2,S] : jax.grad(lambda x: jnp.sum(over_devices({f0}, x)))({0})  ! devices
"""),
    *table("formats", """
f[S] -> f[S] : {0}.astype('<float8_e4m3fn|float8_e5m2|float8_e4m3b11fnuz|float8_e5m2fnuz>').astype(jnp.float32)
f[S] -> f[S] : lax.reduce_precision({0}, 5, <10|3>)
f[n] f[n] -> f[] : lax.dot({0}.astype('float8_e5m2'), {1}.astype('float8_e5m2'), preferred_element_type='float32') / {n}
i[S] i[S] -> i[S] : (({0} % 4).astype('<int4|uint4|int2>') <+|*|-|&|//> 3).astype('int32')
i[S,n] -> i[S] : jnp.<max|min>(({0} % 8).astype('<int4|uint4|int2|uint2>'), axis=-1).astype('int32')
i[S,n] -> i[S,n] : jnp.<sort|flip>(({0} % 8).astype('<int4|uint4>'), axis=-1).astype('int32')
i[n] i[a] -> i[a] : ({0} % 8).astype('<int4|uint4>')[{1}].astype('int32')
i[n] i[] -> i[n] : ({0} % 8).astype('<int4|uint2>').at[{1}].<set|add|max>(1).astype('int32')
i[n] (i[] -> i[]) -> i[n] : lax.scan(lambda c, x: (c + x.astype('int4'), jnp.asarray({f0}(c.astype('int32')))), jnp.asarray(1, 'int4'), {0} % 4)[1]
f[S] i[S] -> f[S] : {0} * ({1} % 5).astype('<int4|uint4>').astype({0}.dtype) * 0.3
f[n] f[n] -> i[n] : lax.bitcast_convert_type({0}.astype('float32'), 'int32') % 7
i[n] -> i[n,2] : lax.bitcast_convert_type({0}.astype('int8'), 'int4').astype('int32')
k[] -> i[3] : random.randint({0}, (3,), 0, 3, '<int4|uint4>').astype('int32')
f[n,p] f[2,p,q] -> f[n,q] : lax.ragged_dot({0}, {1}.astype({0}.dtype), jnp.array([1, {n} - 1], 'int32')) / {p}
f[n,p] f[2,p,q] i[] -> f[n,q] : lax.ragged_dot({0}, {1}.astype({0}.dtype), jnp.stack([{2} % {n}, {n} - {2} % {n}]).astype('int32')) / {p}
f[n,S] i[n] -> f[2,S] : jax.ops.segment_<sum|prod|min|max>({0} * 0.5, {1} % 2, num_segments=2, <mode='drop'|bucket_size=2>)
f[n,p] f[p] -> f[n] : (as_sparse({0}) @ {1}.astype({0}.dtype)) / {p}
f[n,p] f[p,q] -> f[n,q] : (as_sparse({0}) @ {1}.astype({0}.dtype)) / {p}
f[p,q] f[n,p] -> f[n,q] : ({1}.astype({0}.dtype) @ as_sparse({0})) / {p}
f[n,p] -> f[p,n] : as_sparse({0}).T.todense() * 0.5
f[n,p] f[p] -> f[n,p] : as_sparse({0}) * {1}.astype({0}.dtype) @ jnp.eye({p}, dtype={0}.dtype)
f[n,p] -> f[n,p] : sparsified(lambda x: x * 0.5 + x, {0})
f[n,p] -> f[n] : as_sparse({0}, <0|1>).sum(1).todense() * 0.3
f[n,p] -> f[n,p] : as_sparse({0}, 1).todense() * 0.7
"""),
]  # fmt: skip
