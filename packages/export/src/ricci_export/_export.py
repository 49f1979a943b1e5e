"""``export``: trace a jitted function and lower it to a portable module."""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import ricci_ir as ir
import ricci_xla as xla
from ricci_autodiff import tangent_aval, vjp
from ricci_stablehlo import ordered_among
from ricci_xla.exported import ExportedModule, lower_for_export, to_portable

from ._checks import DisabledSafetyCheck, check_custom_calls
from ._exported import Exported

__all__ = ["default_export_platform", "export", "maximum_supported_calling_convention_version"]
__all__ += ["minimum_supported_calling_convention_version"]

# The calling conventions that can be written and read, by JAX's numbers.
minimum_supported_calling_convention_version = 9
maximum_supported_calling_convention_version = 10

_calling_convention = ir.config.state("jax_export_calling_convention_version")
_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def default_export_platform() -> str:
    """The platform that a function is exported for by default: that of the default device.

    Example:
      >>> from ricci import export
      >>> export.default_export_platform() in ("cpu", "cuda", "rocm", "tpu")
      True
    """
    return xla.canonical_platform(xla.get_default_device())


def export(
    fun_jit: Callable[..., Any],
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
    _override_lowering_rules: Sequence[tuple[Any, Any]] | None = None,
) -> Callable[..., Exported]:
    """Return a function that exports a jitted function for given types of arguments.

    Args:
      fun_jit: the function, which ``jit`` returned. Static arguments become part of the exported
        module.
      platforms: the platforms to export for, among ``"cpu"``, ``"cuda"``, ``"rocm"`` and ``"tpu"``,
        of any machine; by default that of the default device.
      disabled_checks: checks to disable.

    Returns:
      A function of the same arguments, or descriptions of them, that returns an ``Exported``.

    Raises:
      TypeError: if an argument is not an array, or an entry of ``disabled_checks`` is not a
        check.
      ValueError: if ``fun_jit`` is not a jitted function, a platform is unknown, or the module has
        custom calls that are not guaranteed stable.
      NotImplementedError: if the module calls Python.

    Example:
      A function of batches of any size, written to bytes and read again, as another process would:

      >>> import ricci
      >>> import ricci.numpy as jnp
      >>> from ricci import export
      >>> (batch,) = export.symbolic_shape("batch")
      >>> x = ricci.ShapeDtypeStruct((batch, 3), jnp.float32)
      >>> exported = export.export(ricci.jit(lambda x: x.sum(axis=1)))(x)
      >>> exported.out_avals
      (ShapedArray(float32[batch]),)
      >>> data = exported.serialize()
      >>> export.deserialize(data).call(jnp.ones((2, 3))).tolist()
      [3.0, 3.0]

    Notes:
      Values that the function closes over become part of the file. To call it under ``grad`` later,
      serialize it with ``vjp_order=1``.

    See also:
      ``deserialize``; ``serialize_executable``, for executables of one machine; ``warm_start``.
    """
    if not hasattr(fun_jit, "trace") and str(getattr(fun_jit, "__module__", "")).startswith(
        "ricci"
    ):
        fun_jit = xla.jit(fun_jit)  # a function of the NumPy API, for example
    if not (callable(fun_jit) and hasattr(fun_jit, "trace")):
        raise ValueError(
            f"export takes a function that jit returned, got {fun_jit!r}. Write export(jit(f))."
        )
    if _override_lowering_rules:
        raise NotImplementedError(
            "export: _override_lowering_rules is not supported. Register the primitives' lowering "
            "rules for the platform before the export."
        )
    disabled = tuple(disabled_checks)
    for check in disabled:
        if not isinstance(check, DisabledSafetyCheck):
            raise TypeError(
                f"disabled_checks holds {check!r} of type {type(check).__name__}; it takes "
                "DisabledSafetyCheck.platform() and DisabledSafetyCheck.custom_call(target)."
            )
    checked_platforms = None if platforms is None else _checked_platforms(platforms)

    @ir.api_boundary
    def export_for(*args: object, **kwargs: object) -> Exported:
        traced = fun_jit.trace(*args, **kwargs)  # pyright: ignore[reportFunctionMemberAccess]
        return _export_traced(traced, checked_platforms or (default_export_platform(),), disabled)

    return update_wrapper(export_for, fun_jit)


def _checked_platforms(platforms: Sequence[str]) -> tuple[str, ...]:
    if isinstance(platforms, str):
        raise ValueError(f"platforms must be a sequence of names: write platforms=[{platforms!r}].")
    for name in platforms:
        if name not in _PLATFORMS:
            raise ValueError(
                f"platforms names {name!r}; there are {', '.join(map(repr, _PLATFORMS))}."
                + (" GPUs are 'cuda' or 'rocm'." if name == "gpu" else "")
            )
    return tuple(dict.fromkeys(platforms))


def _export_traced(
    traced: xla.Traced,
    platforms: tuple[str, ...],
    disabled: tuple[DisabledSafetyCheck, ...],
    out_shardings: tuple[xla.NamedSharding | None, ...] | None = None,
) -> Exported:
    convention = _calling_convention.value
    oldest = minimum_supported_calling_convention_version
    newest = maximum_supported_calling_convention_version
    if not oldest <= convention <= newest:
        raise ValueError(
            f"the option jax_export_calling_convention_version is {convention}; it must be from "
            f"{oldest} to {newest}"
        )
    lowered = lower_for_export(traced, platforms, out_shardings)
    check_custom_calls(lowered.name, lowered.custom_calls, disabled)
    ordered = ordered_among(lowered.effects)
    static = all(ir.is_static_shape(getattr(aval, "shape", ())) for aval in lowered.in_avals)
    return Exported(
        fun_name=lowered.name,
        in_tree=traced.in_tree,
        in_avals=lowered.in_avals,
        out_tree=traced.out_tree,
        out_avals=lowered.out_avals,
        _in_named_shardings=lowered.in_shardings,
        _out_named_shardings=lowered.out_shardings,
        in_shardings_hlo=(None,) * len(lowered.in_avals),
        out_shardings_hlo=(None,) * len(lowered.out_avals),
        nr_devices=lowered.nr_devices,
        platforms=platforms,
        ordered_effects=ordered,
        unordered_effects=tuple(sorted(lowered.effects.difference(ordered), key=str)),
        disabled_safety_checks=disabled,
        mlir_module_serialized=to_portable(lowered.text, lowered.large_constants),
        calling_convention_version=convention,
        module_kept_var_idx=lowered.kept_args,
        uses_global_constants=len(platforms) > 1 or not static,
        _get_vjp=lambda primal: _export_vjp(primal, traced, lowered),
    )


def _export_vjp(primal: Exported, traced: xla.Traced, lowered: ExportedModule) -> Exported:
    """Export the vjp: a function of arguments and output cotangents."""
    jaxpr = traced.jaxpr
    count = len(lowered.in_avals)

    def fun_vjp(*flat: object) -> tuple[Any, ...]:
        # The forward pass is part of the derivative's module, so no residuals pass between two
        # exports.
        args, cotangents = flat[:count], flat[count:]
        _, pull = vjp(lambda *xs: list(ir.eval_jaxpr(jaxpr, jaxpr.consts, *xs)), *args)
        return tuple(pull([_cotangent(ct) for ct in cotangents]))

    fun_vjp.__name__ = f"{primal.fun_name}_vjp"
    avals: list[Any] = [*lowered.in_avals, *map(tangent_aval, lowered.out_avals)]
    ins, outs = lowered.placed
    structs = [
        ir.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding)
        for aval, sharding in zip(avals, (*ins, *outs), strict=True)
    ]
    # The cotangent of an argument has the argument's sharding.
    grad_shardings = tuple(s if isinstance(s, xla.NamedSharding) else None for s in ins)
    sharded = any(s is not None for s in grad_shardings)
    disabled = tuple(primal.disabled_safety_checks)
    # ``jit`` takes shardings on devices only, so those on an abstract mesh are passed to the
    # export.
    if any(s is not None and isinstance(s.mesh, xla.AbstractMesh) for s in grad_shardings):
        return _export_traced(
            xla.jit(fun_vjp).trace(*structs), primal.platforms, disabled, grad_shardings
        )
    jitted = xla.jit(fun_vjp, out_shardings=grad_shardings) if sharded else xla.jit(fun_vjp)
    return _export_traced(jitted.trace(*structs), primal.platforms, disabled)


def _cotangent(x: object) -> Any:
    aval: Any = ir.get_aval(x)
    return ir.float0_zeros(aval.shape) if aval.dtype == ir.float0 else x
