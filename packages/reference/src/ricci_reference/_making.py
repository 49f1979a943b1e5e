"""Rules of what brings values into programs and takes them out, of tokens and of composites."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ricci_ir import Token

from ._programs import call_program

making_rules: dict[str, Callable[..., Any]] = {
    "after_all": lambda *tokens: Token(None),
    "composite": lambda *operands, call_jaxpr, **params: call_program(call_jaxpr, operands),
    "create_token": lambda: Token(None),
    "dce_sink": lambda x, **params: [],
    "empty": lambda *, shape, dtype, **params: np.zeros(shape, dtype),
    "stage": lambda x: x,
}
