"""The modules of the drop-in that are not those of Ricci, and those of Ricci that JAX lacks."""

UNSUPPORTED = "jax._unsupported"
ADAPTERS = "jax._adapters"

# Modules of Ricci without a twin under ``jax``.
NOT_IN_JAX = frozenset(("cache", "distributed.run", "parallel", "profile", "testing"))

# Names that libraries use although JAX does not list them, by module, with the object behind each:
# private ones, mostly. Comments name the users. A library that imports another one gets an
# ``ImportError`` that names it; it is then added, if Ricci has it.
TABLE: dict[str, dict[str, str]] = {
    "_src": {},
    "_src.ad_util": {"stop_gradient_p": "ricci_lax:stop_gradient_p"},  # lineax
    "_src.api_util": {  # e3nn
        "infer_argnums_and_argnames": f"{ADAPTERS}:infer_argnums_and_argnames"
    },
    "_src.checkify": {  # flax
        "Error": "ricci_lax.checkify:Error",
        "JaxException": "ricci_lax.checkify:JaxException",
        "JaxRuntimeError": "ricci_lax.checkify:JaxRuntimeError",
        "checkify": "ricci_lax.checkify:checkify",
        "user_checks": "ricci_lax.checkify:user_checks",
    },
    "_src.compiler": {},  # chex checks whether it has functions that it would replace
    "_src.core": {  # flax, numpyro, quax
        "AbstractValue": "ricci_ir:AbstractValue",
        "Effect": "ricci_ir:Effect",
        "Effects": "ricci_ir:Effects",
        "EffectTypeSet": "ricci_ir:EffectTypeSet",
        "ShapedArray": "ricci_ir:ShapedArray",
        "Trace": "ricci_ir:Trace",
        "TraceTag": "ricci_compat.core:TraceTag",
        "Tracer": "ricci_ir:Tracer",
        "full_lower": f"{ADAPTERS}:full_lower",
        "jaxpr_as_fun": "ricci_ir:jaxpr_function",
        "join_effects": "ricci_ir:join_effects",
        "no_effects": "ricci_ir:no_effects",
        "physical_aval": "ricci_ir:physical_aval",
        "set_current_trace": "ricci_compat.core:set_current_trace",
        "take_current_trace": "ricci_compat.core:take_current_trace",
        "trace_state_clean": "ricci_compat.core:trace_state_clean",
    },
    "_src.dispatch": {"wait_for_tokens": "ricci_xla:effects_barrier"},  # equinox
    "_src.distributed": {"global_state": f"{ADAPTERS}:processes"},  # orbax
    "_src.dtypes": {  # equinox, flax, optree, tinygp
        "DType": "numpy:dtype",
        "ExtendedDType": "ricci_ir:ExtendedDType",
        "TypePromotionError": "ricci_ir:TypePromotionError",
        "dtype": "ricci_ir:dtype",
        "extended": "ricci_ir:extended",
        "finfo": "ricci_ir:finfo",
        "result_type": "ricci_ir:result_type",
        "supports_inf": f"{ADAPTERS}:supports_inf",
        "to_complex_dtype": f"{ADAPTERS}:to_complex_dtype",
    },
    "_src.effects": {  # mpi4jax
        name: f"ricci_ir:{name}"
        for name in (
            "Effect",
            "EffectTypeSet",
            "Effects",
            "control_flow_allowed_effects",
            "custom_derivatives_allowed_effects",
            "lowerable_effects",
            "no_effects",
            "ordered_effects",
            "remat_allowed_effects",
        )
    },
    "_src.flatten_util": {"ravel_pytree": "ricci.flatten_util:ravel_pytree"},  # blackjax
    "_src.flattree": {},  # quax imports it for the parameters of scan, which differ here
    "_src.interpreters": {  # the modules are those of jax.interpreters
        name: f"jax.interpreters.{name}"
        for name in ("ad", "batching", "mlir", "partial_eval", "pxla", "xla")
    },
    "_src.lib": {},
    "_src.lib.mlir": {"ir": "jaxlib.mlir.ir", "passmanager": "jaxlib.mlir.passmanager"},
    # what JAX's documentation of primitives imports
    "_src.lib.mlir.dialects": {
        "hlo": "jaxlib.mlir.dialects.stablehlo",
        **{
            name: f"jaxlib.mlir.dialects.{name}"
            for name in ("arith", "chlo", "func", "math", "scf", "sdy", "vector")
        },
    },
    "_src.literals": {  # equinox, jaxtyping, quax
        "TypedComplex": f"{ADAPTERS}:TypedComplex",
        "TypedFloat": f"{ADAPTERS}:TypedFloat",
        "TypedInt": f"{ADAPTERS}:TypedInt",
        "TypedNdArray": f"{ADAPTERS}:TypedNdArray",
    },
    "_src.pjit": {"jit_p": "ricci_lax:jit_p"},  # quax
    "_src.public_test_util": {"check_close": f"{ADAPTERS}:check_close"},  # tinygp
    "_src.state": {},
    "_src.state.types": {"AbstractRef": "ricci_ir:AbstractRef"},  # flax
    "_src.traceback_util": {  # equinox, flax, jaxtyping
        "_exclude_paths": "ricci_ir:excluded_paths",
        "api_boundary": "ricci_ir:api_boundary",
        "include_frame": f"{ADAPTERS}:include_frame",
        "register_exclusion": "ricci_ir:register_exclusion",
    },
    "_src.tree_util": {  # flax, jaxlie, orbax
        "_registry": "ricci_pytree:registered_nodes",
        "flatten_one_level": "ricci_pytree:flatten_one_level",
        "prefix_errors": "ricci_pytree:prefix_errors",  # equinox
    },
    "_src.xla_bridge": {  # chex, keras
        "_backends": f"{ADAPTERS}:clients",
        "get_backend": "ricci_xla:get_backend",
        "register_backend_factory": "ricci_xla:register_backend_factory",  # modules of plugins
        "register_plugin": "ricci_xla:register_plugin",
    },
    "lib": {"__version__": "jaxlib:__version__"},
    "experimental.colocated_python": {  # orbax
        name: f"{UNSUPPORTED}:{name}"
        for name in ("colocated_cpu_devices", "colocated_python", "colocated_python_class")
    },
    "experimental.colocated_python.func": {},
    "experimental.colocated_python.serialization": {"DeviceList": "ricci_xla:DeviceList"},
    "experimental.jax2tf": {"convert": f"{UNSUPPORTED}:convert"},  # equinox, neural-tangents
    # keras, where an option asks for it on a TPU
    "experimental.pallas": {},
    "experimental.pallas.ops": {},
    "experimental.pallas.ops.tpu": {},
    "experimental.pallas.ops.tpu.splash_attention": {},
    "experimental.pallas.ops.tpu.splash_attention.splash_attention_kernel": dict.fromkeys(
        ("SegmentIds", "make_splash_mha"), f"{UNSUPPORTED}:splash_attention"
    ),
    "experimental.pallas.ops.tpu.splash_attention.splash_attention_mask": dict.fromkeys(
        ("CausalMask", "MultiHeadMask", "NumpyMask"), f"{UNSUPPORTED}:splash_attention"
    ),
    "extend.ifrt_programs": {"ifrt_programs": f"{UNSUPPORTED}:ifrt_programs"},  # orbax
    "experimental.hijax": {  # flax
        **{name: f"ricci_ir:{name}" for name in ("AbstractValue", "ShapedArray")},
        "Zero": "ricci_autodiff:Zero",
        "instantiate_zeros": "ricci_autodiff:instantiate",
        "is_undefined_primal": "ricci_autodiff:is_undefined_primal",
        **{
            name: f"{UNSUPPORTED}:{name}"
            for name in ("HiPrim", "HiType", "aval_method", "aval_property", "register_hitype")
        },
    },
}


def alias(inside: str) -> str | None:
    """Return the module that the table has under a name; ``None`` for another object."""
    parent, _, name = inside.rpartition(".")
    source = TABLE.get(parent, {}).get(name)
    return None if source is None or ":" in source else source
