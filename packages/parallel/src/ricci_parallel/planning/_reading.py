"""Parsing of an executable: its HLO module, and the lines of its instructions."""

from ricci_parallel.reports._attribution import Attribution
from ricci_parallel.reports._device_groups import MeshAxes
from ricci_parallel.reports._hlo_text import HloModule
from ricci_parallel.reports._program_lines import ProgramLines
from ricci_xla import LocatedProgram


def read(program: LocatedProgram) -> tuple[HloModule, Attribution]:
    """Parse the HLO text of an executable; return the attribution of its instructions as well."""
    module = HloModule(program.text)
    lines = ProgramLines(program.jaxpr, program.arg_names, program.out_shardings)
    count = len(program.devices)
    return module, Attribution(module, lines, MeshAxes(program.meshes, program.devices), count)
