"""Elementwise functions at the edges of their domains: values and derivatives, against JAX."""

from .case import disagreements as disagreements
from .differences import EXPECTED as EXPECTED
from .differences import reason_for as reason_for
from .table import CASES as CASES
