"""Figures of the chips of TPUs, by which kernels choose the sizes of their blocks."""

import enum
from dataclasses import dataclass

import numpy as np

import ricci_ir as ir
from ricci_kernels._devices import current_device

__all__ = ["ChipVersion", "SparseCoreInfo", "TpuInfo", "get_tpu_info", "get_tpu_info_for_chip"]


class ChipVersion(enum.Enum):
    """The versions of the chips of TPUs.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.ChipVersion.TPU_V5P.supports_megacore
      True
    """

    TPU_V2 = "v2"
    TPU_V3 = "v3"
    TPU_V4I = "v4i"
    TPU_V4 = "v4"
    TPU_V5E = "v5e"
    TPU_V5P = "v5p"
    TPU_V6E = "v6e"
    TPU_7 = "7"
    TPU_7X = "7x"
    TPU_8I = "8i"
    TPU_8T = "8t"

    def __str__(self) -> str:
        return self.value

    @property
    def is_lite(self) -> bool:
        """Whether it is a chip of one core for inference."""
        return self.value in ("v4i", "v5e", "v6e")

    @property
    def num_physical_tensor_cores_per_chip(self) -> int:
        """The number of tensor cores of a chip."""
        return 1 if self.is_lite or self.value == "8t" else 2

    @property
    def supports_megacore(self) -> bool:
        """Whether the two cores of a chip can be one device."""
        return self.value in ("v4", "v5p")


@dataclass(frozen=True, kw_only=True)
class SparseCoreInfo:
    """Figures of the sparse cores of a chip.

    Attributes:
      num_cores: the number of cores.
      num_subcores: the number of vector subcores of a core.
      num_lanes: the number of 32-bit elements in a register.
      vmem_capacity_bytes: the memory of a subcore.
      dma_granule_size_bytes: the unit of copies.
    """

    num_cores: int
    num_subcores: int
    num_lanes: int
    vmem_capacity_bytes: int
    dma_granule_size_bytes: int


@dataclass(frozen=True, kw_only=True)
class TpuInfo:
    """Figures of a TPU; memories and speeds are those of one tensor core.

    Attributes:
      chip_version: the version of the chip.
      generation: its generation.
      num_cores: the number of tensor cores of a device.
      num_lanes, num_sublanes: the shape of a vector register of 32-bit elements.
      mxu_column_size, num_mxus, num_accumulators: the matrix units.
      vmem_capacity_bytes, cmem_capacity_bytes, smem_capacity_bytes, hbm_capacity_bytes: the sizes
        of memories.
      mem_bw_bytes_per_second: the bandwidth of the main memory.
      bf16_ops_per_second, int8_ops_per_second, fp8_ops_per_second, int4_ops_per_second: operations
        of matrix products, 0 where the chip has none.
      sparse_core: its sparse cores, if it has any.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> info = pltpu.get_tpu_info_for_chip(pltpu.ChipVersion.TPU_V5E, 1)
      >>> info.get_sublane_tiling("int8"), info.is_matmul_supported("int8", "int8")
      (32, True)
    """

    chip_version: ChipVersion
    generation: int
    num_cores: int
    num_lanes: int
    num_sublanes: int
    mxu_column_size: int
    num_mxus: int
    num_accumulators: int
    vmem_capacity_bytes: int
    cmem_capacity_bytes: int
    smem_capacity_bytes: int
    hbm_capacity_bytes: int
    mem_bw_bytes_per_second: int
    bf16_ops_per_second: int
    int8_ops_per_second: int
    fp8_ops_per_second: int
    int4_ops_per_second: int
    sparse_core: SparseCoreInfo | None = None

    @property
    def is_lite(self) -> bool:
        """Whether it is a chip of one core for inference."""
        return self.chip_version.is_lite

    @property
    def is_megacore(self) -> bool:
        """Whether a device has several cores."""
        return self.num_cores > 1

    @property
    def is_split_chip(self) -> bool:
        """Whether a device is one of the two cores of a chip."""
        return self.num_cores == 1 < self.chip_version.num_physical_tensor_cores_per_chip

    def get_sublane_tiling(self, dtype: ir.DTypeLike) -> int:
        """Return the number of rows of a tile of a dtype; 0 for one of 64 bits.

        Args:
          dtype: the dtype.
        """
        dtype = np.dtype(dtype)
        bits = 8 if dtype.kind == "b" else ir.itemsize_bits(dtype)
        # Halves had the tiles of floats before generation 7.
        return self.num_sublanes * (1 if bits == 16 and self.generation < 7 else 32 // bits)

    def is_matmul_supported(self, lhs_dtype: ir.DTypeLike, rhs_dtype: ir.DTypeLike) -> bool:
        """Return whether the matrix units multiply matrices of two dtypes.

        Args:
          lhs_dtype, rhs_dtype: the dtypes.
        """
        names = [ir.canonicalize_dtype(x).name for x in (lhs_dtype, rhs_dtype)]
        products = _PRODUCTS[self.chip_version]
        return any(all(map(set.__contains__, pair, names)) for pair in products)


def _set(names: str) -> set[str]:
    return set(names.split())


_FLOATS = _set("float32 bfloat16")
_FP8 = _set("float8_e5m2 float8_e4m3fn")
_OLD_FP8 = _set("float8_e5m2 float8_e4m3b11fnuz")
_F32_ONLY = [(_set("float32"), _set("float32"))]
_V4 = [(_FLOATS, _FLOATS | {"int8"})]
_V5 = [
    (_FLOATS | _OLD_FP8, _FLOATS | _OLD_FP8),
    (_set("int8 uint8"), _set("int8 uint8")),
    (_set("int4 uint4"), _set("int4 uint4")),
]
_V7 = [(_FLOATS, _FLOATS | _FP8), (_FP8, _FP8)]
# For each chip, pairs of the dtypes of the left and of the right operand.
_PRODUCTS: dict[ChipVersion, list[tuple[set[str], set[str]]]] = {
    ChipVersion.TPU_V2: _F32_ONLY,
    ChipVersion.TPU_V3: _F32_ONLY,
    ChipVersion.TPU_V4I: _V4,
    ChipVersion.TPU_V4: _V4,
    ChipVersion.TPU_V5E: _V5,
    ChipVersion.TPU_V5P: _V5,
    ChipVersion.TPU_V6E: _V5,
    ChipVersion.TPU_7: _V7,
    ChipVersion.TPU_7X: _V7,
    ChipVersion.TPU_8I: [(left, right | {"int4", "uint4"}) for left, right in _V7],
    ChipVersion.TPU_8T: [(left, right | {"int4"}) for left, right in _V7],
}

_KIB, _MIB, _MB, _GB, _TERA = 2**10, 2**20, 10**6, 10**9, 10**12

# The figures that JAX 0.12.0.1 answers, for one core. Where Google publishes figures of a chip
# (cloud.google.com/tpu/docs/v4, v5e, v5p, v6e, tpu7x), these are theirs, rounded, by core.
# Columns: generation, sublanes, size, number and accumulators of the matrix units; MiB of vector
# memory, MB of common memory, KiB of scalar memory, bytes of main memory, its GB per second;
# 10^10 operations per second in bf16, int8, fp8 and int4.
_FIGURES = {
    ChipVersion.TPU_V2: (2, 8, 128, 1, 0, 16, 0, 16, 8_000, 358, 2300, 0, 0, 0),
    ChipVersion.TPU_V3: (3, 8, 128, 2, 0, 16, 0, 16, 17_200, 412.5, 7000, 0, 0, 0),
    ChipVersion.TPU_V4I: (4, 8, 128, 4, 0, 16, 134, 1024, 8_590, 614, 13700, 0, 0, 0),
    ChipVersion.TPU_V4: (4, 8, 128, 4, 0, 16, 67, 1024, 17_200, 615, 13750, 0, 0, 0),
    ChipVersion.TPU_V5E: (5, 8, 128, 4, 0, 128, 0, 1024, 17_200, 820, 19700, 39400, 0, 78800),
    ChipVersion.TPU_V5P: (5, 8, 128, 4, 0, 64, 0, 1024, 51_500, 1230, 22950, 45900, 0, 92000),
    ChipVersion.TPU_V6E: (
        *(6, 8, 256, 2, 0, 128, 0, 1024, 34_400, 1640, 92000, 184000, 92000, 368000),
    ),
    ChipVersion.TPU_7: (7, 8, 256, 2, 128, 64, 0, 1024, 103_000, 3700, 115500, 0, 230000, 0),
    ChipVersion.TPU_7X: (7, 8, 256, 2, 128, 64, 0, 1024, 103_000, 3700, 115500, 0, 230000, 0),
    ChipVersion.TPU_8I: (8, 8, 256, 2, 256, 192, 0, 1024, 154_500, 4300, 55050, 0, 440400, 0),
    ChipVersion.TPU_8T: (
        *(8, 16, 256, 2, 256, 128, 0, 1024, 231_000, 6400, 99610, 99610, 597690, 1195380),
    ),
}
# Cores, subcores, lanes, KiB of memory, and the unit of copies.
_SPARSE_CORES = {
    ChipVersion.TPU_V5P: (4, 16, 8, 512, 32),
    ChipVersion.TPU_V6E: (2, 16, 8, 256, 32),
    ChipVersion.TPU_7: (2, 16, 16, 512, 32),
    ChipVersion.TPU_7X: (2, 16, 16, 512, 32),
    ChipVersion.TPU_8I: (1, 4, 16, 512, 64),
    ChipVersion.TPU_8T: (2, 16, 16, 256, 64),
}
_KINDS = {
    "TPU v2": ChipVersion.TPU_V2,
    "TPU v3": ChipVersion.TPU_V3,
    "TPU v4 lite": ChipVersion.TPU_V4I,
    "TPU v4": ChipVersion.TPU_V4,
    "TPU v5 lite": ChipVersion.TPU_V5E,
    "TPU v5e": ChipVersion.TPU_V5E,
    "TPU v5": ChipVersion.TPU_V5P,
    "TPU v5p": ChipVersion.TPU_V5P,
    "TPU v6 lite": ChipVersion.TPU_V6E,
    "TPU v6e": ChipVersion.TPU_V6E,
    "TPU7": ChipVersion.TPU_7,
    "TPU7x": ChipVersion.TPU_7X,
    "TPU8i": ChipVersion.TPU_8I,
    "TPU8t": ChipVersion.TPU_8T,
}


def _info(version: ChipVersion, num_cores: int) -> TpuInfo:
    generation, sublanes, size, units, accumulators, *figures = _FIGURES[version]
    vmem, cmem, smem, hbm, bandwidth, *speeds = figures
    bf16, int8, fp8, int4 = [int(speed) * _TERA // 100 for speed in speeds]
    sparse = None
    if version in _SPARSE_CORES:
        cores, subcores, lanes, memory, granule = _SPARSE_CORES[version]
        sparse = SparseCoreInfo(
            num_cores=cores,
            num_subcores=subcores,
            num_lanes=lanes,
            vmem_capacity_bytes=memory * _KIB,
            dma_granule_size_bytes=granule,
        )
    return TpuInfo(
        chip_version=version,
        generation=int(generation),
        num_cores=num_cores,
        num_lanes=128,
        num_sublanes=int(sublanes),
        mxu_column_size=int(size),
        num_mxus=int(units),
        num_accumulators=int(accumulators),
        vmem_capacity_bytes=int(vmem) * _MIB,
        cmem_capacity_bytes=int(cmem) * _MB,
        smem_capacity_bytes=int(smem) * _KIB,
        hbm_capacity_bytes=int(hbm) * _MB,
        mem_bw_bytes_per_second=int(bandwidth * _GB),
        bf16_ops_per_second=bf16,
        int8_ops_per_second=int8,
        fp8_ops_per_second=fp8,
        int4_ops_per_second=int4,
        sparse_core=sparse,
    )


def get_tpu_info() -> TpuInfo:
    """Return the figures of the TPU of the current mesh, or else of the default device.

    Returns:
      A ``TpuInfo``.

    Raises:
      ValueError: if the device is not a TPU, or of a kind without figures.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> from ricci.sharding import AbstractDevice, AbstractMesh, use_abstract_mesh
      >>> device = AbstractDevice("TPU v5e", 1, "tpu")
      >>> with use_abstract_mesh(AbstractMesh((1,), ("x",), abstract_device=device)):
      ...     pltpu.get_tpu_info().vmem_capacity_bytes // 2**20
      128
    """
    device = current_device()
    kind = str(getattr(device, "device_kind", device))
    if kind not in _KINDS:
        raise ValueError(
            f"Unsupported TPU device kind: {kind}. Without a TPU, name the one to write kernels "
            "for by the abstract_device of the mesh in force: use_abstract_mesh(AbstractMesh((1,), "
            '("x",), abstract_device=AbstractDevice("TPU v5e", 1, "tpu"))).'
        )
    cores = getattr(device, "num_cores", None)
    return _info(_KINDS[kind], 1 if cores is None else int(cores))


def get_tpu_info_for_chip(
    chip_version: ChipVersion, num_tensor_cores_per_logical_device: int
) -> TpuInfo:
    """Return the figures of a version of the chip.

    Args:
      chip_version: the version.
      num_tensor_cores_per_logical_device: the number of cores of a device.

    Returns:
      A ``TpuInfo``.

    Raises:
      ValueError: if a device of the chip has one core only, and another number is asked for.

    Example:
      >>> from ricci.experimental.pallas import tpu as pltpu
      >>> pltpu.get_tpu_info_for_chip(pltpu.ChipVersion.TPU_V6E, 1).mxu_column_size
      256
    """
    if num_tensor_cores_per_logical_device != 1 and not chip_version.supports_megacore:
        raise ValueError(
            f"a device of a TPU {chip_version} has one core: num_tensor_cores_per_logical_device "
            f"must be 1, got {num_tensor_cores_per_logical_device}."
        )
    return _info(chip_version, num_tensor_cores_per_logical_device)
