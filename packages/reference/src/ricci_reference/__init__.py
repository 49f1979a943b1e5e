"""A second backend: every primitive evaluated with NumPy, without a compiler.

Importing it makes it the backend if there is none yet; ``ricci_ir.use_backend(reference_backend)``
switches to it for the length of a ``with`` block.
"""

from ricci_ir import has_backend, set_backend

from ._array import ReferenceArray as ReferenceArray
from ._backend import ReferenceBackend as ReferenceBackend
from ._backend import reference_backend as reference_backend
from ._rules import missing_rule as missing_rule
from ._rules import rule_for as rule_for
from ._rules import rules as rules

__all__ = [
    "ReferenceArray",
    "ReferenceBackend",
    "missing_rule",
    "reference_backend",
    "rule_for",
    "rules",
]

if not has_backend():
    set_backend(reference_backend)
