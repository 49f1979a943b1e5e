"""The type of a rule: a function of NumPy arrays and of the primitive's parameters."""

from collections.abc import Callable, Sequence

import numpy as np

from ricci_ir import Token

Rule = Callable[..., np.ndarray | Token | Sequence[np.ndarray]]
