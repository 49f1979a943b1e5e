"""The names that NumPy and JAX have dropped, and what takes their place.

Heirs in ``numpy`` are names of ``numpy``, where they are not whole paths, and expressions.
"""

from collections.abc import Mapping

__all__ = ["heir_of"]

_ALIASES_OF_NUMPY = {
    "Inf": "inf",
    "Infinity": "inf",
    "NaN": "nan",
    "alltrue": "all",
    "asanyarray": "asarray",
    "ascontiguousarray": "asarray",
    "asfortranarray": "asarray",
    "byte": "int8",
    "cfloat": "complex128",
    "common_type": "result_type",
    "cumproduct": "cumprod",
    "find_common_type": "promote_types",
    "fix": "trunc",
    "half": "float16",
    "in1d": "isin",
    "infty": "inf",
    "intc": "int32",
    "intp": "int_",
    "issubsctype": "issubdtype",
    "long": "int64",
    "longlong": "int64",
    "product": "prod",
    "rank": "ndim",
    "round_": "round",
    "row_stack": "vstack",
    "set_string_function": "set_printoptions",
    "short": "int16",
    "singlecomplex": "complex64",
    "sometrue": "any",
    "trapz": "trapezoid",
    "ubyte": "uint8",
    "ulong": "uint64",
    "ulonglong": "uint64",
    "ushort": "uint16",
}
_OF_NUMPY = _ALIASES_OF_NUMPY | {
    "DeviceArray": "ricci.Array",
    "NINF": "-inf",
    "NZERO": "-0.0",
    "PINF": "inf",
    "PZERO": "0.0",
    "alen": "len(x)",
    "asfarray": "asarray(x, dtype=float)",
    "asmatrix": "asarray(x), whose product is x @ y",
    "asscalar": "x.item()",
    "bool8": "bool",
    "byte_bounds": "x.nbytes",
    "cast": "asarray(x, dtype)",
    "copyto": "x.at[i].set(y)",
    "clongdouble": "complex128",
    "clongfloat": "complex128",
    "fastCopyAndTranspose": "x.T.copy()",
    "float128": "float64",
    "float96": "float64",
    "geterrobj": "ricci.debug_nans",
    "issctype": "issubdtype(x, generic)",
    "issubclass_": "the built-in issubclass",
    "longcomplex": "complex128",
    "longdouble": "float64",
    "longfloat": "float64",
    "mat": "asarray(x), whose product is x @ y",
    "matrix": "asarray(x), whose product is x @ y",
    "maximum_sctype": "promote_types",
    "msort": "sort(x, axis=0)",
    "nbytes": "dtype(x).itemsize",
    "obj2sctype": "dtype(x).type",
    "poly1d": "polyval and the other functions of polynomials",
    "putmask": "where(mask, values, x)",
    "random": "ricci.random, with keys",
    "sctype2char": "dtype(x).char",
    "sctypes": "a dtype itself, such as float32",
    "seterr": "ricci.debug_nans",
    "seterrobj": "ricci.debug_nans",
    "errstate": "ricci.debug_nans",
}
_OF_NUMPY |= {
    name: f"NumPy's own {name}"
    for name in (
        "busday_count busday_offset chararray datetime64 genfromtxt loadtxt memmap ndenumerate "
        "ndindex nditer recarray recfromcsv recfromtxt savetxt savez_compressed timedelta64"
    ).split()
}
_UPDATES = {
    f"index_{name}": f"x.at[i].{method}(y)"
    for name, method in {
        "add": "add",
        "max": "max",
        "min": "min",
        "mul": "multiply",
        "update": "set",
    }.items()
}
_LINEAR_ALGEBRA = (
    "cholesky eig eigh hessenberg householder_product lu lu_pivots_to_permutation qdwh qr schur "
    "svd triangular_solve tridiagonal tridiagonal_solve"
).split()
_OF_EXTENSIONS = (
    "AbstractToken ClosedJaxpr DebugInfo DropVar Effect Effects InconclusiveDimensionOperation "
    "JaxprTypeError Token concrete_or_error find_top_trace gensym get_opaque_trace_state "
    "jaxpr_as_fun jaxprs_in_params mapped_aval new_jaxpr_eqn no_effects "
    "primal_dtype_to_tangent_dtype subjaxprs unmapped_aval unsafe_am_i_under_a_jit_DO_NOT_USE "
    "unsafe_am_i_under_a_vmap_DO_NOT_USE unsafe_get_axis_names_DO_NOT_USE valid_jaxtype"
).split()
_SHARDINGS = (
    "GSPMDSharding MeshPspecSharding OpShardingSharding PmapSharding PositionalSharding"
).split()

_HEIRS: Mapping[str, Mapping[str, str]] = {
    "": {
        "DeviceArray": "ricci.Array",
        "ShapedArray": "ricci.core.ShapedArray",
        "clear_backends": "ricci.extend.backend.clear_backends",
        "curry": "functools.partial",
        "custom_transforms": "ricci.custom_jvp or ricci.custom_vjp",
        "defjvp": "ricci.custom_jvp",
        "defjvp_all": "ricci.custom_jvp",
        "defvjp": "ricci.custom_vjp",
        "defvjp_all": "ricci.custom_vjp",
        "mask": "ricci.bucketed, or ricci.export.symbolic_shape",
        "partial": "functools.partial",
        "shapecheck": "ricci.export.symbolic_shape",
        "soft_pmap": "ricci.shard_map",
        "tree_multimap": "ricci.tree.map",
    },
    "core": {name: f"ricci.extend.core.{name}" for name in _OF_EXTENSIONS}
    | {
        "ConcreteArray": "ricci.core.ShapedArray",
        "axis_frame": "ricci.lax.axis_size",
        "call_p": "ricci.extend.core.primitives.call_p",
        "closed_call_p": "ricci.extend.core.primitives.closed_call_p",
        "get_aval": "ricci.typeof",
        "raise_to_shaped": "ricci.typeof",
        "trace_state_clean": "ricci.extend.core.get_opaque_trace_state",
    },
    "experimental": {"disable_x64": "ricci.enable_x64(False)", "enable_x64": "ricci.enable_x64"},
    "experimental.compilation_cache.compilation_cache": {
        "initialize_cache": "ricci.experimental.compilation_cache.compilation_cache.set_cache_dir"
    },
    "interpreters.pxla": {"ShardedDeviceArray": "ricci.Array"},
    "interpreters.xla": {
        "DeviceArray": "ricci.Array",
        "pytype_aval_mappings": "ricci.core.pytype_aval_mappings",
        "xla_call_p": "ricci.extend.core.primitives.jit_p",
    },
    "lax": {name: f"ricci.lax.linalg.{name}" for name in _LINEAR_ALGEBRA}
    | {
        "infeed": "ricci.experimental.io_callback",
        "outfeed": "ricci.experimental.io_callback",
        "pvary": "ricci.lax.pcast(x, axes, to='varying')",
        "tie_in": "ricci.lax.optimization_barrier",
        "zeros_like_array": "ricci.lax.full_like",
    },
    "nn": {"hardtanh": "ricci.nn.hard_tanh", "normalize": "ricci.nn.standardize"},
    "numpy": _OF_NUMPY,
    "ops": _UPDATES | {"index": "x.at"},
    "random": {
        "PRNGKeyArray": "ricci.Array, with a dtype below ricci.dtypes.prng_key",
        "shuffle": "ricci.random.permutation(key, x)",
        "threefry_2x32": "ricci.extend.random.threefry_2x32",
    },
    "scipy.linalg": {"tril": "ricci.numpy.tril", "triu": "ricci.numpy.triu"},
    "sharding": dict.fromkeys(_SHARDINGS, "ricci.NamedSharding, over a mesh of ricci.make_mesh")
    | {"XLACompatibleSharding": "ricci.sharding.Sharding"},
    "tree": {"multimap": "ricci.tree.map"},
    "tree_util": {
        "build_tree": "ricci.tree.unflatten",
        "register_keypaths": "ricci.tree_util.register_pytree_with_keys",
        "tree_multimap": "ricci.tree_util.tree_map",
    },
}


def heir_of(namespace: str, name: str) -> str | None:
    """Return what takes the place of a dropped name, or ``None``.

    Args:
      namespace: the namespace below the root, ``""`` for the root itself.
      name: the name.

    Example:
      >>> from ricci._heirs import heir_of
      >>> heir_of("numpy", "trapz"), heir_of("numpy", "sin")
      ('trapezoid', None)
    """
    return _HEIRS.get(namespace, {}).get(name)
