"""Calls of lax functions that must fail: wrong types, ranks, dtypes, axes, parameters.

Each is an expression over the arrays of `OPERANDS`; `{name}` is the function.
"""

import numpy as np

# fmt: off
OPERANDS = {
    "F": np.ones((2, 3), np.float32),
    "G": np.ones((4,), np.float32),
    "I": np.ones((2, 3), np.int32),
    "U": np.ones((2, 3), np.uint8),
    "B": np.ones((2, 3), np.bool_),
    "C": np.ones((2, 3), np.complex64),
    "S": np.ones((), np.float32),
    "N": np.ones((), np.int32),
    "M": np.eye(3, dtype=np.float32),
    "T": np.ones((2, 3, 4), np.float32),
    "IDX": np.zeros((2, 1), np.int32),
}
BAD: dict[str, list[str]] = {}


def bad(names: str, *calls: str) -> None:
    """Add calls for every function named."""
    for name in names.split():
        BAD.setdefault(name, []).extend(call.replace("{name}", name) for call in calls)


# Elementwise

FLOATING = (
    "exp exp2 expm1 log log2 log1p sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh "
    "sqrt rsqrt cbrt logistic")
REAL = "floor ceil erf erfc erf_inv lgamma digamma bessel_i0e bessel_i1e is_finite"
UNARY = f"{FLOATING} {REAL} neg sign abs square bitwise_not population_count clz real imag conj"
bad(UNARY, "lax.{name}('a')", "lax.{name}([1.0, 2.0])", "lax.{name}(None)", "lax.{name}()",
    "lax.{name}(F, F, F)")
bad(FLOATING, "lax.{name}(I)", "lax.{name}(B)", "lax.{name}(U)")
bad(REAL, "lax.{name}(I)", "lax.{name}(C)")
bad("neg sign abs square", "lax.{name}(B)", "lax.{name}(object())")
bad("bitwise_not population_count clz", "lax.{name}(F)")
bad("abs", "lax.abs(B)")
bad("population_count clz", "lax.{name}(B)")
bad("real imag", "lax.{name}(F)", "lax.{name}(I)")
bad("conj", "lax.conj(I)", "lax.conj(B)")
bad("reciprocal", "lax.reciprocal('a')", "lax.reciprocal()", "lax.reciprocal([1.0])")
bad("one_minus_square", "lax.one_minus_square('a')", "lax.one_minus_square(I)",
    "lax.one_minus_square()")
bad("round", "lax.round('a')", "lax.round(I)", "lax.round(C)", "lax.round(F, 7)")
bad("integer_pow", "lax.integer_pow(F, 1.5)", "lax.integer_pow('a', 2)", "lax.integer_pow(B, 2)",
    "lax.integer_pow(F)")

ANY_TWO = "add sub mul div rem max min pow eq ne lt le gt ge atan2 nextafter"
BITS = "bitwise_and bitwise_or bitwise_xor shift_left shift_right_logical shift_right_arithmetic"
SPECIAL = "igamma igammac igamma_grad_a polygamma zeta"
bad(f"{ANY_TWO} {SPECIAL}", "lax.{name}(F, G)", "lax.{name}(F, T)", "lax.{name}(F, 'a')",
    "lax.{name}(F, [1.0])", "lax.{name}(F)", "lax.{name}(None, F)")
bad("add sub mul div rem max min eq ne lt le gt ge atan2 nextafter", "lax.{name}(F, I)",
    "lax.{name}(F, C)")
bad("add sub mul div rem", "lax.{name}(B, B)")
bad("rem lt le gt ge", "lax.{name}(C, C)")
bad(SPECIAL, "lax.{name}(F, I)", "lax.{name}(I, I)", "lax.{name}(C, C)")
bad("atan2 nextafter", "lax.{name}(I, I)")
bad("polynomial", "lax.polynomial('a', (F,))", "lax.polynomial(F, 3)", "lax.polynomial(F)",
    "lax.polynomial(B, (B, B))", "lax.polynomial(F, (F, G))",
    "lax.polynomial(F, (F, F), unroll=-1)")
bad("pow", "lax.pow(I, F)", "lax.pow(B, B)")
bad(BITS, "lax.{name}(F, F)", "lax.{name}(I, U)", "lax.{name}(I, 'a')", "lax.{name}(I)",
    "lax.{name}(I, np.ones(4, np.int32))", "lax.{name}(C, C)")
bad("shift_left shift_right_logical shift_right_arithmetic", "lax.{name}(B, B)")
bad("mulhi", "lax.mulhi(F, F)", "lax.mulhi(I, U)", "lax.mulhi(x=I, y=I)", "lax.mulhi(I)")
bad("complex", "lax.complex(I, I)", "lax.complex(C, C)", "lax.complex(F, G)", "lax.complex(F)")
bad("random_gamma_grad", "lax.random_gamma_grad(I, I)", "lax.random_gamma_grad(F, G)",
    "lax.random_gamma_grad(C, C)")
bad("betainc", "lax.betainc(F, F, G)", "lax.betainc(I, I, I)", "lax.betainc(F, F)",
    "lax.betainc(F, F, 'a')")
bad("clamp", "lax.clamp(F, I, F)", "lax.clamp(G, F, G)", "lax.clamp(F, F)", "lax.clamp('a', F, S)",
    "lax.clamp(C, C, C)")
bad("select", "lax.select(F, F, F)", "lax.select(B, F, I)", "lax.select(B, F, G)",
    "lax.select(B, F)", "lax.select('a', F, F)")
bad("select_n", "lax.select_n(F, F, F)", "lax.select_n(B, F, I)", "lax.select_n(B, F, G)",
    "lax.select_n(B)", "lax.select_n(B, F, F, F)", "lax.select_n(np.array([True]), F, F)")
bad("convert_element_type", "lax.convert_element_type('a', np.float32)",
    "lax.convert_element_type(F, 'nonsense')", "lax.convert_element_type(F)",
    "lax.convert_element_type([1.0], np.int32)")
bad("bitcast_convert_type", "lax.bitcast_convert_type(C, np.float32)",
    "lax.bitcast_convert_type(F, 'nonsense')", "lax.bitcast_convert_type('a', np.int32)",
    "lax.bitcast_convert_type(U, np.float32)")
bad("reduce_precision", "lax.reduce_precision(I, 5, 5)", "lax.reduce_precision(F, 0, 5)",
    "lax.reduce_precision(F, 5, -1)", "lax.reduce_precision(F, 1.5, 5)")
bad("dtype", "lax.dtype('a')", "lax.dtype(None)", "lax.dtype([1, 2])")
bad("stop_gradient", "lax.stop_gradient()", "lax.stop_gradient(F, F)", "lax.stop_gradient(y=F)")

# Shapes

bad("broadcast", "lax.broadcast(F, (-1,))", "lax.broadcast(F, 2.5)", "lax.broadcast('a', (2,))",
    "lax.broadcast(F)")
bad("broadcast_in_dim", "lax.broadcast_in_dim(F, (2, 3), (0,))",
    "lax.broadcast_in_dim(F, (4, 3), (0, 1))", "lax.broadcast_in_dim(F, (2, 3), (0, 0))",
    "lax.broadcast_in_dim(F, (2, 3), (0, 5))", "lax.broadcast_in_dim(F, (3, 2), (1, 0))",
    "lax.broadcast_in_dim(F, (3,), (0, 1))")
bad("broadcast_to_rank", "lax.broadcast_to_rank(F, 1)", "lax.broadcast_to_rank('a', 2)",
    "lax.broadcast_to_rank(F)")
bad("broadcast_like", "lax.broadcast_like(F, G)", "lax.broadcast_like(F)",
    "lax.broadcast_like(T, F)")
bad("broadcast_shapes", "lax.broadcast_shapes((2, 3), (4,))", "lax.broadcast_shapes(('a',), (2,))",
    "lax.broadcast_shapes((2,), (3,), (1,))")
bad("reshape", "lax.reshape(F, (4,))", "lax.reshape(F, (-2, 3))", "lax.reshape(F, (2.5,))",
    "lax.reshape(F, (6,), (0, 0))", "lax.reshape('a', (1,))", "lax.reshape(F, (6,), (0,))")
bad("squeeze", "lax.squeeze(F, (0,))", "lax.squeeze(F, (5,))", "lax.squeeze('a', (0,))",
    "lax.squeeze(F[None], (0, 0))")
bad("expand_dims", "lax.expand_dims(F, (7,))", "lax.expand_dims(F, (0, 0))",
    "lax.expand_dims('a', (0,))")
bad("transpose", "lax.transpose(F, (0,))", "lax.transpose(F, (0, 0))", "lax.transpose(F, (0, 5))",
    "lax.transpose('a', ())")
bad("rev", "lax.rev(F, (0, 0))", "lax.rev(F, (5,))", "lax.rev(F, (-1,))", "lax.rev('a', ())")
bad("collapse", "lax.collapse(F, 5)", "lax.collapse(F, 1, 0)", "lax.collapse(F)")
bad("tile", "lax.tile(F, (-1, 2))", "lax.tile('a', (2,))", "lax.tile(F, (1.5, 2))", "lax.tile(F)")
bad("pad", "lax.pad(F, S, ((0, 0, 0),))", "lax.pad(F, S, ((0, 0, -1), (0, 0, 0)))",
    "lax.pad(F, N, ((0, 0, 0), (0, 0, 0)))", "lax.pad(F, G, ((0, 0, 0), (0, 0, 0)))",
    "lax.pad(G, S, ((-3, -3, 0),))", "lax.pad('a', S, ())")
bad("concatenate", "lax.concatenate([], 0)", "lax.concatenate([F, I], 0)",
    "lax.concatenate([F, G], 0)", "lax.concatenate([F, F], 5)", "lax.concatenate([F, F], -1)",
    "lax.concatenate([F, M[:, :2]], 0)", "lax.concatenate(['a'], 0)")
bad("stack", "lax.stack([], 0)", "lax.stack([F, G], 0)", "lax.stack([F, I], 0)",
    "lax.stack([F, F], 7)")
bad("unstack", "lax.unstack(S)", "lax.unstack(F, 5)", "lax.unstack('a')")
bad("split", "lax.split(F, (1, 2))", "lax.split(F, (-1, 3))", "lax.split(F, (2,), 5)",
    "lax.split('a', (1,))")
bad("slice", "lax.slice(F, (0,), (1,))", "lax.slice(F, (0, 0), (5, 3))",
    "lax.slice(F, (2, 0), (1, 3))", "lax.slice(F, (-1, 0), (2, 3))",
    "lax.slice(F, (0, 0), (2, 3), (0, 1))", "lax.slice(F, (0, 0), (2, 3), (1,))",
    "lax.slice('a', (), ())")
bad("slice_in_dim", "lax.slice_in_dim(F, 0, 1, axis=5)", "lax.slice_in_dim(F, 0, 9)",
    "lax.slice_in_dim(F, 0, 2, 0)", "lax.slice_in_dim(F, 1.5, 2)")
bad("index_in_dim", "lax.index_in_dim(F, 5)", "lax.index_in_dim(F, 0, 5)",
    "lax.index_in_dim(F, 1.5)")
bad("full", "lax.full((-1,), 0.0)", "lax.full((2,), G)", "lax.full((2,), 'a')",
    "lax.full((2.5,), 0.0)", "lax.full((2,), 0.0, 'nonsense')")
bad("full_like", "lax.full_like('a', 0.0)", "lax.full_like(F, G)", "lax.full_like(F)",
    "lax.full_like(F, 0, shape=(-1,))")
bad("empty", "lax.empty((-1,), np.float32)", "lax.empty((2,), 'nonsense')", "lax.empty((2,))")
bad("iota", "lax.iota(np.int32, -1)", "lax.iota(np.bool_, 2)", "lax.iota('nonsense', 2)",
    "lax.iota(np.int32, 2.5)", "lax.iota(np.int32)")
bad("broadcasted_iota", "lax.broadcasted_iota(np.int32, (2, 3), 2)",
    "lax.broadcasted_iota(np.bool_, (2, 3), 0)", "lax.broadcasted_iota(np.int32, (2, -3), 0)")
bad("shape_as_value", "lax.shape_as_value()", "lax.shape_as_value(('a',))",
    "lax.shape_as_value(2, 3)")
bad("index_take", "lax.index_take(F, (IDX, IDX), (0,))", "lax.index_take(F)",
    "lax.index_take(F, (IDX[:, 0],), (5,))")
bad("stage", "lax.stage('a')", "lax.stage()", "lax.stage(F, F)")
bad("dce_sink", "lax.dce_sink('a')", "lax.dce_sink()", "lax.dce_sink(F, F)")
bad("optimization_barrier", "lax.optimization_barrier()", "lax.optimization_barrier('a')",
    "lax.optimization_barrier(F, F)")

# Contractions and convolutions

bad("dot", "lax.dot(F, F)", "lax.dot(F, C[:, 0])", "lax.dot('a', F)", "lax.dot(F)",
    "lax.dot(F, M, precision='nonsense')", "lax.dot(T, T)")
NUMBERS = "(((1,), (0,)), ((), ()))"
bad("dot_general", f"lax.dot_general(F, F, {NUMBERS})",
    "lax.dot_general(F, M, (((1, 0), (0,)), ((), ())))",
    "lax.dot_general(F, M, (((5,), (0,)), ((), ())))",
    "lax.dot_general(F, F, (((1,), (1,)), ((0,), (1,))))",
    "lax.dot_general(F, F, (((1,), (1,)), ((1,), (1,))))", f"lax.dot_general('a', M, {NUMBERS})",
    f"lax.dot_general(F, M, {NUMBERS}, precision=7)", "lax.dot_general(F, M)",
    f"lax.dot_general(F, M, {NUMBERS}, preferred_element_type='nonsense')")
bad("batch_matmul", "lax.batch_matmul(F, T)", "lax.batch_matmul(T, T)", "lax.batch_matmul(G, G)",
    "lax.batch_matmul(T, 'a')")
bad("ragged_dot", "lax.ragged_dot(F, F, N)", "lax.ragged_dot(F, T, G)", "lax.ragged_dot(F, T)",
    "lax.ragged_dot(G, T, IDX[:, 0])")
bad("ragged_dot_general", "lax.ragged_dot_general(F, T, G)", "lax.ragged_dot_general(F)",
    "lax.ragged_dot_general()")
bad("scaled_dot", "lax.scaled_dot(F, F)", "lax.scaled_dot(G, M)", "lax.scaled_dot(F)")
IMAGE, KERNEL = "np.ones((1, 2, 5), np.float32)", "np.ones((3, 2, 2), np.float32)"
bad("conv", f"lax.conv({IMAGE}, {KERNEL}, (1, 1), 'SAME')",
    f"lax.conv({IMAGE}, {KERNEL}, (1,), 'nonsense')", f"lax.conv({IMAGE}, F, (1,), 'SAME')",
    f"lax.conv({IMAGE}, np.ones((3, 4, 2), np.float32), (1,), 'SAME')",
    f"lax.conv({IMAGE}, np.ones((3, 2, 2), np.int32), (1,), 'SAME')")
GENERAL = f"lax.conv_general_dilated({IMAGE}, {KERNEL}, (1,), "
bad("conv_general_dilated", GENERAL + "'nonsense')", GENERAL + "[(0, 0), (0, 0)])",
    GENERAL + "'SAME', lhs_dilation=(1, 1))", GENERAL + "'SAME', rhs_dilation=(0,))",
    GENERAL + "'SAME', dimension_numbers=('NCW', 'OIW', 'N'))",
    GENERAL + "'SAME', feature_group_count=3)", GENERAL + "'SAME', batch_group_count=2)",
    GENERAL + "'SAME', feature_group_count=0)", GENERAL + "'SAME', precision='nonsense')",
    f"lax.conv_general_dilated({IMAGE}, {KERNEL}, (0,), 'SAME')")
bad("conv_with_general_padding",
    f"lax.conv_with_general_padding({IMAGE}, {KERNEL}, (1, 1), 'SAME', None, None)",
    f"lax.conv_with_general_padding({IMAGE}, F, (1,), 'SAME', None, None)",
    f"lax.conv_with_general_padding({IMAGE}, {KERNEL}, (1,), 'SAME', (1, 1), None)")
bad("conv_transpose", f"lax.conv_transpose({IMAGE}, {KERNEL}, (1, 1), 'SAME')",
    f"lax.conv_transpose({IMAGE}, {KERNEL}, (1,), 'SAME')",
    f"lax.conv_transpose({IMAGE}, F, (1,), 'SAME')")
bad("conv_general_dilated_patches",
    f"lax.conv_general_dilated_patches({IMAGE}, (2, 2), (1,), 'SAME')",
    f"lax.conv_general_dilated_patches({IMAGE}, (2,), (1, 1), 'SAME')",
    "lax.conv_general_dilated_patches(np.ones((1, 2, 5), np.int32), (2,), (1,), 'nonsense')")
bad("conv_general_dilated_local",
    f"lax.conv_general_dilated_local({IMAGE}, {KERNEL}, (1,), 'VALID', (2,))",
    f"lax.conv_general_dilated_local({IMAGE}, F, (1,), 'VALID', (2,))",
    f"lax.conv_general_dilated_local({IMAGE}, {KERNEL}, (1,), 'VALID', (2, 2))")
bad("conv_dimension_numbers", "lax.conv_dimension_numbers((1, 2), (3, 4, 5), None)",
    "lax.conv_dimension_numbers((1, 2, 3), (3, 4, 5), ('NCW', 'OIW'))",
    "lax.conv_dimension_numbers((1, 2, 3), (3, 4, 5), 7)",
    "lax.conv_dimension_numbers((1, 2, 3), (3, 4, 5), ('NCC', 'OIW', 'NCW'))")
bad("conv_general_permutations", "lax.conv_general_permutations(('NCW', 'OIW', 'NC'))",
    "lax.conv_general_permutations(('NCC', 'OIW', 'NCW'))",
    "lax.conv_general_permutations(('NCW', 'OIX', 'NCW'))")
bad("conv_shape_tuple", "lax.conv_shape_tuple((1, 2, 5), (3, 2), (1,), ((0, 0),))",
    "lax.conv_shape_tuple((1, 2, 5), (3, 2, 2), (1,), ((0, 0), (0, 0)))",
    "lax.conv_shape_tuple((3, 2, 5), (3, 2, 2), (1,), ((0, 0),), 2)")
bad("conv_general_shape_tuple conv_transpose_shape_tuple",
    "lax.{name}((1, 2, 5), (3, 2, 2), (1, 1), 'SAME', ('NCW', 'OIW', 'NCW'))",
    "lax.{name}((1, 2, 5), (3, 2, 2), (1,), 'SAME', ('NCW', 'OIX', 'NCW'))",
    "lax.{name}((1, 2, 5), (3, 2, 2), (1,))")
bad("padtype_to_pads", "lax.padtype_to_pads((5,), (2,), (1,), 'nonsense')",
    "lax.padtype_to_pads((5,), (2,), (1,))", "lax.padtype_to_pads((5,), (2,), (1,), 7)")

# Reductions, windows, sorting

REDUCTIONS = "reduce_sum reduce_prod reduce_max reduce_min"
bad(f"{REDUCTIONS} reduce_and reduce_or reduce_xor", "lax.{name}(I, (5,))", "lax.{name}(I, (0, 0))",
    "lax.{name}('a', ())", "lax.{name}(I)", "lax.{name}(I, (-1,))")
bad("reduce_sum reduce_prod", "lax.{name}(B, (0,))")
bad("reduce_max reduce_min", "lax.{name}(C, (0,))")
bad("reduce_and reduce_or reduce_xor", "lax.{name}(F, (0,))")
bad("reduce", "lax.reduce(F, G, lax.add, (0,))", "lax.reduce(F, 0, lax.add, (0,))",
    "lax.reduce(F, 0.0, lax.add, (5,))", "lax.reduce((F, I), (0.0,), lax.add, (0,))",
    "lax.reduce(F, 0.0, lambda a, b: (a, b), (0,))", "lax.reduce(F, 0.0, 7, (0,))")
bad("argmax argmin", "lax.{name}(F, 5, np.int32)", "lax.{name}(F, 0, np.float32)",
    "lax.{name}(C, 0, np.int32)", "lax.{name}(F[:0], 0, np.int32)", "lax.{name}(F, 0)")
bad("cumsum cumprod cummax cummin cumlogsumexp", "lax.{name}(F, 5)", "lax.{name}(S)",
    "lax.{name}('a')", "lax.{name}(B)")
bad("cummax cummin cumlogsumexp", "lax.{name}(C)")
bad("associative_scan", "lax.associative_scan(7, F)", "lax.associative_scan(lax.add, [])",
    "lax.associative_scan(lax.add, F, axis=5)", "lax.associative_scan(lax.add, (F, G))",
    "lax.associative_scan(lax.add)")
WINDOW = "lax.reduce_window(F, 0.0, lax.add, "
bad("reduce_window", WINDOW + "(2,), (1,), 'VALID')", WINDOW + "(2, 2), (1,), 'VALID')",
    WINDOW + "(2, 2), (0, 1), 'VALID')", WINDOW + "(2, -1), (1, 1), 'VALID')",
    WINDOW + "(2, 2), (1, 1), 'nonsense')", WINDOW + "(2, 2), (1, 1), ((0, 0),))",
    WINDOW + "(2, 2), (1, 1), 'VALID', (0, 1))",
    "lax.reduce_window(F, 0, lax.add, (1, 1), (1, 1), 'VALID')",
    "lax.reduce_window(F, G, lax.add, (1, 1), (1, 1), 'VALID')")
bad("reduce_window_shape_tuple", "lax.reduce_window_shape_tuple((5,), (2, 2), (1,), ((0, 0),))",
    "lax.reduce_window_shape_tuple((5,), (2,), (1, 1), ((0, 0),))",
    "lax.reduce_window_shape_tuple((5,), (2,), (0,), ((0, 0),))")
bad("sort", "lax.sort(F, dimension=5)", "lax.sort((F, G))", "lax.sort(())", "lax.sort('a')",
    "lax.sort((F, F), num_keys=3)", "lax.sort(F, num_keys=0)")
bad("sort_key_val", "lax.sort_key_val(F, G)", "lax.sort_key_val(F, F, dimension=5)",
    "lax.sort_key_val(F)")
bad("top_k", "lax.top_k(F, 9)", "lax.top_k(F, -1)", "lax.top_k(F, 1, axis=5)", "lax.top_k(C, 1)",
    "lax.top_k(F, 1.5)", "lax.top_k(S, 1)")
bad("approx_max_k approx_min_k", "lax.{name}(F, 9)", "lax.{name}(F, -1)", "lax.{name}(I, 1)",
    "lax.{name}(F, 1, reduction_dimension=5)", "lax.{name}(F, 1, recall_target=2.0)")

# Indexing

bad("dynamic_slice", "lax.dynamic_slice(F, (0,), (1, 1))", "lax.dynamic_slice(F, (0, 0), (5, 1))",
    "lax.dynamic_slice(F, (0.5, 0), (1, 1))", "lax.dynamic_slice(F, (0, 0), (1,))",
    "lax.dynamic_slice(F, (0, 0), (-1, 1))", "lax.dynamic_slice(F, (G, 0), (1, 1))",
    "lax.dynamic_slice('a', (), ())")
bad("dynamic_slice_in_dim", "lax.dynamic_slice_in_dim(F, 0, 9)",
    "lax.dynamic_slice_in_dim(F, 0, 1, axis=5)", "lax.dynamic_slice_in_dim(F, 0.5, 1)")
bad("dynamic_index_in_dim", "lax.dynamic_index_in_dim(F, 0, 5)",
    "lax.dynamic_index_in_dim(F, 0.5)", "lax.dynamic_index_in_dim(F)")
bad("dynamic_update_slice", "lax.dynamic_update_slice(F, G, (0, 0))",
    "lax.dynamic_update_slice(F, I, (0, 0))", "lax.dynamic_update_slice(F, M, (0, 0))",
    "lax.dynamic_update_slice(F, F, (0,))", "lax.dynamic_update_slice(F, F, (0.5, 0))")
bad("dynamic_update_slice_in_dim", "lax.dynamic_update_slice_in_dim(F, M, 0, 0)",
    "lax.dynamic_update_slice_in_dim(F, F, 0, 5)", "lax.dynamic_update_slice_in_dim(F, I, 0, 0)")
bad("dynamic_update_index_in_dim", "lax.dynamic_update_index_in_dim(F, G, 0, 0)",
    "lax.dynamic_update_index_in_dim(F, F[0], 0, 5)",
    "lax.dynamic_update_index_in_dim(F, I[0], 0, 0)")
GATHER = "lax.GatherDimensionNumbers({0}, {1}, {2})"
ROWS = GATHER.format("(1,)", "(0,)", "(0,)")
bad("gather", f"lax.gather(F, IDX, {ROWS}, (1,))", f"lax.gather(F, IDX, {ROWS}, (5, 3))",
    f"lax.gather(F, IDX, {ROWS}, (2, 3))", f"lax.gather(F, F[:, :1], {ROWS}, (1, 3))",
    f"lax.gather(F, IDX, {ROWS}, (1, 3), mode='nonsense')", "lax.gather(F, IDX, 7, (1, 3))",
    f"lax.gather(F, IDX, {GATHER.format('(1,)', '(5,)', '(0,)')}, (1, 3))",
    f"lax.gather(F, IDX, {GATHER.format('(1,)', '(0,)', '(0, 1)')}, (1, 3))",
    f"lax.gather(F, IDX, {GATHER.format('(7,)', '(0,)', '(0,)')}, (1, 3))")
SCATTERS = "scatter scatter_add scatter_sub scatter_mul scatter_min scatter_max"
SCATTER = "lax.ScatterDimensionNumbers({0}, {1}, {2})"
INTO = SCATTER.format("(1,)", "(0,)", "(0,)")
bad(SCATTERS, f"lax.{{name}}(F, IDX, G, {INTO})", f"lax.{{name}}(F, IDX, I, {INTO})",
    f"lax.{{name}}(F, F[:, :1], F, {INTO})", f"lax.{{name}}(F, IDX, F, {INTO}, mode='nonsense')",
    f"lax.{{name}}(F, IDX, np.ones((2, 9), np.float32), {INTO})",
    f"lax.{{name}}(F, IDX, F, {SCATTER.format('(1,)', '(5,)', '(0,)')})",
    f"lax.{{name}}(F, IDX, F, {SCATTER.format('(1,)', '(0,)', '(0, 1)')})")
bad("scatter_apply", f"lax.scatter_apply(F, IDX, 7, {INTO}, update_shape=(2, 3))",
    f"lax.scatter_apply(F, F[:, :1], lax.sin, {INTO}, update_shape=(2, 3))",
    f"lax.scatter_apply(F, IDX, lax.sin, {INTO}, update_shape=(7,))")

# Control flow

bad("cond", "lax.cond(G, lambda: 1, lambda: 2)", "lax.cond(True, lambda: 1, lambda: 2.0)",
    "lax.cond(True, lambda: (1,), lambda: 2)", "lax.cond('a', lambda: 1, lambda: 2)",
    "lax.cond(True, 7, lambda: 2)", "lax.cond(True, lambda x: x, lambda: 2, F)")
bad("switch", "lax.switch(G, [lambda: 1, lambda: 2])", "lax.switch(0, [])",
    "lax.switch(0, [lambda: 1, lambda: 2.0])", "lax.switch(0.5, [lambda: 1, lambda: 2])",
    "lax.switch('a', [lambda: 1, lambda: 2])")
bad("while_loop", "lax.while_loop(lambda x: x, lambda x: x, F)",
    "lax.while_loop(lambda x: x < 3, lambda x: (x, x), 0)",
    "lax.while_loop(lambda x: x < 3, lambda x: x * np.float32(1.5) + 1, np.int32(0))",
    "lax.while_loop(7, lambda x: x, 0)",
    "lax.while_loop(lambda x: x < 3, lambda x: x, 'a')")
bad("fori_loop", "lax.fori_loop(0, 3, lambda i, x: (x, x), 0.0)",
    "lax.fori_loop(0, 3, lambda i, x: F, 0.0)", "lax.fori_loop(0.5, 3, lambda i, x: x, 0.0)",
    "lax.fori_loop(0, 3, 7, 0.0)", "lax.fori_loop(F, 3, lambda i, x: x, 0.0)")
bad("scan", "lax.scan(lambda c, x: c, 0.0, F)", "lax.scan(lambda c, x: (F, x), 0.0, F)",
    "lax.scan(lambda c, x: (c, x), 0.0, (F, G))", "lax.scan(lambda c, x: (c, x), 0.0)",
    "lax.scan(lambda c, x: (c, x), 0.0, F, length=7)", "lax.scan(7, 0.0, F)",
    "lax.scan(lambda c, x: (c, x), 0.0, S)", "lax.scan(lambda c, x: (c, x), 0.0, F, unroll=-1)")
bad("map", "lax.map(7, F)", "lax.map(lambda x: x, S)", "lax.map(lambda x: x, (F, G))",
    "lax.map(lambda x: x)")
bad("platform_dependent", "lax.platform_dependent(F)", "lax.platform_dependent(F, cpu=7)",
    "lax.platform_dependent(F, tpu=lambda x: x)")
bad("custom_root", "lax.custom_root(lambda x: x)", "lax.custom_root(lambda x: x, 1.0)",
    "lax.custom_root(lambda x: (x, x), 1.0, lambda f, x: x, lambda g, y: y)")
bad("custom_linear_solve", "lax.custom_linear_solve(lambda x: x, F)",
    "lax.custom_linear_solve(lambda x: x[0], F, lambda f, x: x)",
    "lax.custom_linear_solve(lambda x: x, F, lambda f, x: x[0])")
bad("composite", "lax.composite(7, 'a')(F)", "lax.composite(lambda x: x)",
    "lax.composite(name='a')")
bad("create_token", "lax.create_token(1, 2)", "lax.create_token(x=1)", "lax.create_token(_=1, y=2)")
bad("after_all", "lax.after_all(F)", "lax.after_all('a')", "lax.after_all(1, 2)")

# Transforms, linear algebra, random bits

bad("fft", "lax.fft(F, 'fft', (3,))", "lax.fft(C, 'nonsense', (3,))", "lax.fft(C, 'fft', (2,))",
    "lax.fft(C, 'fft', (1, 2, 3, 4))", "lax.fft(C, 'rfft', (3,))", "lax.fft(C, 'irfft', (9,))",
    "lax.fft('a', 'fft', (3,))")
SQUARE = "cholesky eig eigh hessenberg schur tridiagonal"
bad(" ".join(f"linalg.{name}" for name in SQUARE.split()), "lax.{name}(F)", "lax.{name}(G)",
    "lax.{name}(np.eye(3, dtype=np.int32))", "lax.{name}('a')", "lax.{name}()")
bad("linalg.lu linalg.qr linalg.svd", "lax.{name}(G)", "lax.{name}(I)", "lax.{name}('a')",
    "lax.{name}()")
bad("linalg.qdwh", "lax.linalg.qdwh(G)", "lax.linalg.qdwh('a')", "lax.linalg.qdwh()",
    "lax.linalg.qdwh(F, is_hermitian=True)")
bad("linalg.householder_product", "lax.linalg.householder_product(F, G)",
    "lax.linalg.householder_product(M, I[0])", "lax.linalg.householder_product(M)",
    "lax.linalg.householder_product(G, G)")
bad("linalg.ormqr", "lax.linalg.ormqr(M, G, M)", "lax.linalg.ormqr(M, M[0], G)",
    "lax.linalg.ormqr(M, M[0])", "lax.linalg.ormqr(M, M[0], F)")
bad("linalg.triangular_solve", "lax.linalg.triangular_solve(F, F)",
    "lax.linalg.triangular_solve(M, I)",
    "lax.linalg.triangular_solve(M, np.ones((2, 4), np.float32))",
    "lax.linalg.triangular_solve(M, G)", "lax.linalg.triangular_solve(M)",
    "lax.linalg.triangular_solve(np.eye(3, dtype=np.int32), np.eye(3, dtype=np.int32))")
bad("linalg.tridiagonal_solve", "lax.linalg.tridiagonal_solve(G, G, G, G)",
    "lax.linalg.tridiagonal_solve(G, G, G, F)", "lax.linalg.tridiagonal_solve(G, G, G)",
    "lax.linalg.tridiagonal_solve(S, S, S, F)")
bad("linalg.cholesky_update", "lax.linalg.cholesky_update(M, G)",
    "lax.linalg.cholesky_update(F, G)",
    "lax.linalg.cholesky_update(M)", "lax.linalg.cholesky_update(M, I[0])")
bad("linalg.symmetric_product", "lax.linalg.symmetric_product(F, M)",
    "lax.linalg.symmetric_product(G, M)", "lax.linalg.symmetric_product(M)",
    "lax.linalg.symmetric_product(M, F)")
bad("linalg.lu_pivots_to_permutation", "lax.linalg.lu_pivots_to_permutation(G, 4)",
    "lax.linalg.lu_pivots_to_permutation(IDX, 0)", "lax.linalg.lu_pivots_to_permutation(N, 3)",
    "lax.linalg.lu_pivots_to_permutation(IDX)")
KEY = "np.ones((4,), np.uint32)"
bad("rng_bit_generator", "lax.rng_bit_generator(F, (2,))", f"lax.rng_bit_generator({KEY}, (-1,))",
    f"lax.rng_bit_generator({KEY}, (2,), np.float32)", f"lax.rng_bit_generator({KEY})",
    "lax.rng_bit_generator(np.ones((3,), np.uint32), (2,))")
bad("rng_uniform", "lax.rng_uniform(0.0, 1, (2,))", "lax.rng_uniform(G, G, (2,))",
    "lax.rng_uniform(0.0, 1.0)", "lax.rng_uniform(1j, 2j, (2,))")
