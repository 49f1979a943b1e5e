"""Published figures of the chips that plans are made for.

Estimates divide an executable's work by these figures, so they are lower bounds of the time.
"""

from dataclasses import dataclass

from ricci_xla import Device

__all__ = ["Chip", "chips"]

_TB = 10**12
_GB = 10**9


@dataclass(frozen=True, slots=True)
class Chip:
    """The published figures of a chip.

    Attributes:
      name: the chip's name.
      flops: products and sums of ``bfloat16`` (dense matrices) per second.
      memory: the size of its memory in bytes.
      memory_bandwidth: bytes per second between the chip and its memory.
      link_bandwidth: bytes per second that one link to another chip carries in one direction.
      links: the number of such links; those of a torus are two for each of its axes.
      host_bandwidth: bytes per second between the chip and its host's memory in one direction.
      source: where the figures are published.
    """

    name: str
    flops: float
    memory: float
    memory_bandwidth: float
    link_bandwidth: float
    links: int
    host_bandwidth: float
    source: str

    def share(self, part: int) -> "Chip":
        """Return the part of a chip that each of several devices has."""
        if part == 1:
            return self
        return Chip(
            f"{self.name} / {part}",
            self.flops / part,
            self.memory / part,
            self.memory_bandwidth / part,
            self.link_bandwidth / part,
            self.links,
            self.host_bandwidth / part,
            self.source,
        )


# Google publishes the bandwidth between chips in both directions and over all links together.
# NVIDIA does so for NVLink, whose switch lets one chip send all of it to any others: it counts as
# one link. Hosts are behind PCIe: 4.0 or 5.0 x16 of NVIDIA's; for TPUs 15 GB/s, from Austin et al.,
# 'How to Scale Your Model' (2025), jax-ml.github.io/scaling-book/tpus.
chips: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip(
            "TPU v4",
            275e12,
            32 * 2**30,
            1200 * _GB,
            50 * _GB,
            6,
            15 * _GB,
            "Google Cloud, 'TPU v4', cloud.google.com/tpu/docs/v4; links: Jouppi et al., 'TPU v4: "
            "An Optically Reconfigurable Supercomputer', arXiv:2304.01433, table 4",
        ),
        Chip(
            "TPU v5e",
            197e12,
            16 * _GB,
            819 * _GB,
            50 * _GB,
            4,
            15 * _GB,
            "Google Cloud, 'TPU v5e', cloud.google.com/tpu/docs/v5e",
        ),
        Chip(
            "TPU v5p",
            459e12,
            95 * _GB,
            2765 * _GB,
            100 * _GB,
            6,
            15 * _GB,
            "Google Cloud, 'TPU v5p', cloud.google.com/tpu/docs/v5p",
        ),
        Chip(
            "TPU v6e",
            918e12,
            32 * _GB,
            1638 * _GB,
            100 * _GB,
            4,
            15 * _GB,
            "Google Cloud, 'TPU v6e', cloud.google.com/tpu/docs/v6e",
        ),
        Chip(
            "NVIDIA A100",
            312e12,
            80 * _GB,
            2039 * _GB,
            300 * _GB,
            1,
            32 * _GB,
            "NVIDIA, 'A100 Tensor Core GPU' (80GB SXM), nvidia.com/en-us/data-center/a100",
        ),
        Chip(
            "NVIDIA H100",
            989e12,
            80 * _GB,
            3.35 * _TB,
            450 * _GB,
            1,
            64 * _GB,
            "NVIDIA, 'H100 Tensor Core GPU' (SXM), nvidia.com/en-us/data-center/h100",
        ),
        Chip(
            "NVIDIA H200",
            989e12,
            141 * _GB,
            4.8 * _TB,
            450 * _GB,
            1,
            64 * _GB,
            "NVIDIA, 'H200 Tensor Core GPU' (SXM), nvidia.com/en-us/data-center/h200",
        ),
        Chip(
            "NVIDIA B200",
            2250e12,
            180 * _GB,
            8 * _TB,
            900 * _GB,
            1,
            64 * _GB,
            "NVIDIA, 'DGX B200' (an eighth of it), nvidia.com/en-us/data-center/dgx-b200",
        ),
        Chip(
            "NVIDIA GeForce RTX 4090",
            165.2e12,
            24 * _GB,
            1008 * _GB,
            32 * _GB,
            1,
            32 * _GB,
            "NVIDIA, 'Ada GPU Architecture', whitepaper, appendix 'GeForce RTX 4090' (sums in "
            "float32); its link is PCIe 4.0 x16",
        ),
    )
}

# The runtime's names of chips; a GPU's kind has its form and memory behind the name.
_KINDS = {
    "TPU v4": "TPU v4",
    "TPU v5 lite": "TPU v5e",
    "TPU v5e": "TPU v5e",
    "TPU v5p": "TPU v5p",
    "TPU v5": "TPU v5p",
    "TPU v6 lite": "TPU v6e",
    "TPU v6e": "TPU v6e",
}


def chip_of(device: Device) -> Chip | None:
    """Return the chip of a device, or its share of it; ``None`` for one that is not in the table.

    Args:
      device: the device. TPUs whose cores are devices of their own have the coordinates of their
        chip, and share it.
    """
    kind = device.device_kind
    name = _KINDS.get(kind) or next(
        (name for name in chips if name.startswith("NVIDIA") and kind.startswith(name)), None
    )
    if name is None:
        return None
    place = getattr(device, "coords", None)
    if place is None:
        return chips[name]
    others = (getattr(d, "coords", ()) for d in device.client.devices())
    return chips[name].share(max(1, sum(tuple(other) == tuple(place) for other in others)))
