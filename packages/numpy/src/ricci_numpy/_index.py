"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_numpy": "fft linalg",
    "ricci_numpy.arrays._broadcasting": "ndim shape size",
    "ricci_numpy.arrays._buffers": "frombuffer fromfile fromiter fromstring",
    "ricci_numpy.arrays._creation": "array asarray astype copy",
    "ricci_numpy.arrays._dtypes": (
        "bfloat16 bool_ can_cast cdouble complex128 complex64 complex_ csingle double float16 "
        "float32 float4_e2m1fn float64 float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 "
        "float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
        "float8_e8m0fnu float_ int1 int16 int2 int32 int4 int64 int8 int_ isdtype issubdtype "
        "result_type single uint uint1 uint16 uint2 uint32 uint4 uint64 uint8"
    ),
    "ricci_numpy.arrays._filling": (
        "empty empty_like full full_like ones ones_like zeros zeros_like"
    ),
    "ricci_numpy.arrays._interchange": "from_dlpack load set_printoptions",
    "ricci_numpy.calculus._convolution": (
        "bartlett blackman convolve correlate hamming hanning kaiser"
    ),
    "ricci_numpy.calculus._fitting": "polyfit roots",
    "ricci_numpy.calculus._polynomials": (
        "poly polyadd polyder polydiv polyint polymul polysub polyval vander"
    ),
    "ricci_numpy.calculus._samples": "diff ediff1d gradient interp trapezoid",
    "ricci_numpy.generalized._mapping": "fromfunction vectorize",
    "ricci_numpy.generalized._ufunc_objects": "frompyfunc ufunc",
    "ricci_numpy.generalized._ufunc_table": (
        "add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or "
        "logical_xor maximum minimum multiply negative subtract"
    ),
    "ricci_numpy.indexing._put": "fill_diagonal place put put_along_axis",
    "ricci_numpy.indexing._take": "choose compress extract take take_along_axis",
    "ricci_numpy.indexing._where": "argwhere flatnonzero nonzero piecewise select where",
    "ricci_numpy.linalg._einsum": "PathInfo einsum einsum_path",
    "ricci_numpy.linalg._outer_products": "outer tensordot",
    "ricci_numpy.linalg._products": "dot inner matmul vdot vecdot",
    "ricci_numpy.linalg._vector_products": "cross kron matvec vecmat",
    "ricci_numpy.rearranging._along_axes": "apply_along_axis apply_over_axes",
    "ricci_numpy.rearranging._inserting": "delete insert",
    "ricci_numpy.rearranging._moving": (
        "flip fliplr flipud repeat resize roll rot90 tile trim_zeros"
    ),
    "ricci_numpy.rearranging._packed_bits": "packbits unpackbits",
    "ricci_numpy.rearranging._padding": "pad",
    "ricci_numpy.reductions._averages": "average",
    "ricci_numpy.reductions._axis_reductions": (
        "all amax amin any count_nonzero max min minmax prod ptp sum"
    ),
    "ricci_numpy.reductions._cumulative": (
        "cumprod cumsum cumulative_prod cumulative_sum nancumprod nancumsum"
    ),
    "ricci_numpy.reductions._extreme_indices": "argmax argmin",
    "ricci_numpy.reductions._moments": "mean std var",
    "ricci_numpy.reductions._nan_functions": (
        "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar"
    ),
    "ricci_numpy.reductions._quantiles": (
        "median nanmedian nanpercentile nanquantile percentile quantile"
    ),
    "ricci_numpy.sequences._diagonals": "diag diagflat diagonal trace",
    "ricci_numpy.sequences._grids": "c_ ix_ mgrid ogrid r_ ravel_multi_index unravel_index",
    "ricci_numpy.sequences._ranges": "arange indices meshgrid",
    "ricci_numpy.sequences._spaced": "geomspace linspace logspace",
    "ricci_numpy.sequences._triangles": (
        "diag_indices diag_indices_from eye identity mask_indices tri tril tril_indices "
        "tril_indices_from triu triu_indices triu_indices_from"
    ),
    "ricci_numpy.shapes._joining": (
        "append block column_stack concat concatenate dstack hstack stack vstack"
    ),
    "ricci_numpy.shapes._reshaping": (
        "atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_shapes broadcast_to "
        "expand_dims ravel reshape squeeze"
    ),
    "ricci_numpy.shapes._splitting": "array_split dsplit hsplit split unstack vsplit",
    "ricci_numpy.shapes._transposing": (
        "matrix_transpose moveaxis permute_dims rollaxis swapaxes transpose"
    ),
    "ricci_numpy.sorting._searching": "digitize searchsorted",
    "ricci_numpy.sorting._sets": "intersect1d isin setdiff1d setxor1d union1d",
    "ricci_numpy.sorting._sorting": (
        "argpartition argsort lexsort partition sort sort_complex top_k"
    ),
    "ricci_numpy.sorting._unique": (
        "UniqueAllResult UniqueCountsResult UniqueInverseResult unique unique_all unique_counts "
        "unique_inverse unique_values"
    ),
    "ricci_numpy.statistics._correlations": "corrcoef cov",
    "ricci_numpy.statistics._histograms": (
        "bincount histogram histogram2d histogram_bin_edges histogramdd"
    ),
    "ricci_numpy.ufuncs._arithmetic": "float_power fmax fmin heaviside hypot pow power",
    "ricci_numpy.ufuncs._binary": (
        "arctan2 atan2 bitwise_left_shift bitwise_right_shift divide equal greater greater_equal "
        "left_shift less less_equal nextafter not_equal right_shift true_divide"
    ),
    "ricci_numpy.ufuncs._comparison": (
        "allclose array_equal array_equiv isclose iscomplex iscomplexobj isfinite isinf isnan "
        "isneginf isposinf isreal isrealobj isscalar iterable"
    ),
    "ricci_numpy.ufuncs._division": "divmod floor_divide fmod gcd lcm mod remainder",
    "ricci_numpy.ufuncs._float_parts": (
        "bitwise_count copysign frexp ldexp modf nan_to_num signbit spacing"
    ),
    "ricci_numpy.ufuncs._rounding": "around clip rint round trunc",
    "ricci_numpy.ufuncs._signals": "angle i0 sinc unwrap",
    "ricci_numpy.ufuncs._unary": (
        "abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan "
        "atanh bitwise_invert bitwise_not cbrt ceil conj conjugate cos cosh deg2rad degrees exp "
        "exp2 expm1 fabs floor imag invert log log10 log1p log2 logical_not positive rad2deg "
        "radians real reciprocal sign sin sinh sqrt square tan tanh"
    ),
}

AUTHORING = {
    "ricci_numpy.generalized._mapping": "checked_results core_sizes parse_signature",
    "ricci_numpy.indexing._at": "IndexUpdateHelper IndexUpdateRef",
    "ricci_numpy.indexing._entries": "ds",
    "ricci_numpy.linalg._decompositions": "adjoint matrices",
    "ricci_numpy.reductions._reduced_axes": "axis_count reduced_and_named_axes",
    "ricci_numpy.statistics._exponential_sums": "as_axis log_softmax logsumexp softmax to_inexact",
}
