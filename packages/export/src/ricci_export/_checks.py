"""Safety checks of exported functions: platforms, and custom calls that are guaranteed stable."""

from collections.abc import Iterable, Sequence

__all__ = ["DisabledSafetyCheck"]

_CUSTOM_CALL = "custom_call:"


class DisabledSafetyCheck:
    """A disabled check: of the platform of a call, or of a custom call in a module.

    Example:
      >>> from ricci import export
      >>> export.DisabledSafetyCheck.platform()
      platform
      >>> export.DisabledSafetyCheck.custom_call("my_kernel").is_custom_call()
      'my_kernel'
    """

    __slots__ = ("_impl",)

    def __init__(self, _impl: str):
        self._impl: str = _impl

    @classmethod
    def platform(cls) -> "DisabledSafetyCheck":
        """Allow calls on platforms that the function was not exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> "DisabledSafetyCheck":
        """Allow custom calls of a target, whose stability the user guarantees.

        Args:
          target_name: the target.
        """
        return cls(_CUSTOM_CALL + target_name)

    def is_custom_call(self) -> str | None:
        """The target whose custom calls are allowed; ``None`` for another check."""
        if not self._impl.startswith(_CUSTOM_CALL):
            return None
        return self._impl.removeprefix(_CUSTOM_CALL)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DisabledSafetyCheck) and self._impl == other._impl

    def __hash__(self) -> int:
        return hash(self._impl)

    def __repr__(self) -> str:
        return self._impl


def _kernels(prefixes: Iterable[str], names: str) -> set[str]:
    return {prefix + name for prefix in prefixes for name in names.split()}


# The custom calls whose meaning XLA and jaxlib preserve between versions: a module with them
# may be loaded by other versions.
_GUARANTEED = frozenset(
    {
        *_kernels(
            (f"lapack_{letter}" for letter in "sdcz"),
            "gees_ffi geev_ffi gehrd_ffi geqrf_ffi gesdd_ffi getrf_ffi gtsv_ffi potrf_ffi trsm_ffi",
        ),
        *_kernels(("lapack_s", "lapack_d"), "orgqr_ffi syevd_ffi sytrd_ffi"),
        *_kernels(("lapack_c", "lapack_z"), "ungqr_ffi heevd_ffi hetrd_ffi"),
        *_kernels(
            ("cusolver_", "hipsolver_"),
            "geqrf_ffi gesvd_ffi gesvdj_ffi getrf_ffi orgqr_ffi potrf_ffi syevd_ffi sytrd_ffi",
        ),
        *_kernels(("cu_", "hip_"), "lu_pivots_to_permutation threefry2x32_ffi"),
        *_kernels(("stablehlo.dynamic_",), "approx_top_k reduce_window rng_bit_generator top_k"),
        *("cusparse_gtsv2_ffi", "mosaic_gpu_v2", "tpu_custom_call", "tf.call_tf_function"),
        *(
            "ApproxTopK",
            "Eigh",
            "LuDecomposition",
            "ProductOfElementaryHouseholderReflectors",
            "Qr",
        ),
        *("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "shape_assertion"),
        "annotate_device_placement",
    }
)


def check_custom_calls(
    name: str, targets: Iterable[str], disabled: Sequence[DisabledSafetyCheck]
) -> None:
    """Raise ``ValueError`` if a module has custom calls that are not guaranteed stable."""
    allowed = {check.is_custom_call() for check in disabled}
    unknown = sorted(set(targets) - _GUARANTEED - allowed)
    if unknown:
        raise ValueError(
            f"{name} cannot be exported: it has custom calls of {', '.join(map(repr, unknown))}, "
            "which are not guaranteed to be stable between versions. If the processes that will "
            "load the file have these targets, pass disabled_checks=["
            f"DisabledSafetyCheck.custom_call({unknown[0]!r})]."
        )
