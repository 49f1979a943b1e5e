"""Random programs, evaluated by Ricci and by JAX: `python -m fuzz` in `integration`."""

from .agreement import Disagreement as Disagreement
from .agreement import disagreements as disagreements
from .grammar import program as program
from .programs import Program as Program
from .reducing import reduced as reduced

__all__ = ["Disagreement", "Program", "disagreements", "program", "reduced"]
