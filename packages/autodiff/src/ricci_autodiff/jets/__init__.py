"""Propagation of truncated power series (jets) through functions. Imported at its first use."""

from ._coefficient_rules import rule_of as rule_of
from ._series import Coefficient as Coefficient
from ._series import JetTracer as JetTracer
from ._trace import JetTrace as JetTrace
from ._trace import jet_flat as jet_flat
from ._trace import jet_jaxpr as jet_jaxpr

__all__ = ["Coefficient", "JetTrace", "JetTracer", "jet_flat", "jet_jaxpr", "rule_of"]
