"""Programs that compile to something else than JAX's, with both sides' costs."""

from typing import Any

type Costs = dict[str, Any]

DIFFERENCES: dict[str, tuple[Costs, Costs]] = {
    "perceptron.fp8": (
        {"temporaries": 106520, "kernels": {"fusion": 61}, "calls": {}},
        {"temporaries": 41752, "kernels": {"copy": 4, "fusion": 46}, "calls": {}},
    ),
    "transformer.f32": (
        {
            "temporaries": 2274592,
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
            "temporaries": 1769248,
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
