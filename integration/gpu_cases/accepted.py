"""Programs that compile to something else than JAX's, with both sides' costs."""

from typing import Any

type Costs = dict[str, Any]

DIFFERENCES: dict[str, tuple[Costs, Costs]] = {}
