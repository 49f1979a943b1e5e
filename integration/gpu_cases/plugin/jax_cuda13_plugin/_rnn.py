"""Descriptions of LSTM layers by cuDNN."""

from typing import Any


def registrations() -> dict[str, Any]:
    """Return the kernels by target: none."""
    return {}


def compute_rnn_workspace_reserve_space_sizes(*arguments: float) -> tuple[int, int]:
    """Return the sizes of the buffer and of the reserve."""
    total = sum(map(int, arguments))
    return 3 * total, 5 * total


def build_rnn_descriptor(*arguments: object) -> bytes:
    """Return the arguments as text."""
    return f"rnn({', '.join(map(str, arguments))})".encode()
