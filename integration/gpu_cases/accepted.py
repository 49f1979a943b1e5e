"""Programs that compile to something else than JAX's, with both sides' costs."""

from typing import Any

type Costs = dict[str, Any]

DIFFERENCES: dict[str, tuple[Costs, Costs]] = {
    # The derivative of x / y by y multiplies by 1 / y twice, since y² may leave the dtype. The
    # second product, of a scalar, stays outside of XLA's fusion of the sum, and then the weights
    # are transposed once for all. At a width of 1024 both sides take 30,418,712 bytes, 82 kernels.
    "perceptron.fp8": (
        {"temporaries": 106520, "kernels": {"fusion": 61}, "calls": {}},
        {"temporaries": 41752, "kernels": {"copy": 4, "fusion": 46}, "calls": {}},
    ),
    # The loops carry the same arrays. XLA schedules one asynchronous fusion more or less.
    "transformer.f32": (
        {
            "temporaries": 2258208,
            "kernels": {"copy": 2, "fusion": 110, "fusion-done": 27, "fusion-start": 27},
            "calls": {},
        },
        {
            "temporaries": 2158880,
            "kernels": {"copy": 2, "fusion": 118, "fusion-done": 25, "fusion-start": 25},
            "calls": {},
        },
    ),
    "transformer.bf16": (
        {
            "temporaries": 1752864,
            "kernels": {"copy": 2, "fusion": 130, "fusion-done": 18, "fusion-start": 18},
            "calls": {},
        },
        {
            "temporaries": 1743400,
            "kernels": {"copy": 2, "fusion": 142, "fusion-done": 16, "fusion-start": 16},
            "calls": {},
        },
    ),
}

_MOVED = {"argument": 0, "output": 0, "temp": 262404, "alias": 0}
_MOVED |= {"host_argument": 0, "host_output": 262144, "host_temp": 0, "host_alias": 0}
MEMORY_DIFFERENCES: dict[str, tuple[Costs, Costs]] = {
    # The runtime drops the memory kinds of a described GPU, so that the argument is on the device.
    # JAX donates it to the result on the host, and with that moves the argument there.
    "donated": (
        _MOVED | {"argument": 262144},
        _MOVED | {"host_argument": 262144, "host_alias": 262144},
    )
}
