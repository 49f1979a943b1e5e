"""Devices that are described, not attached: programs are compiled for them, and sized.

``ricci_xla`` says how.
"""

from ricci_ir import guard_public as _guard_public
from ricci_xla import Device as Device
from ricci_xla import TopologyDescription as TopologyDescription
from ricci_xla import get_attached_topology as get_attached_topology
from ricci_xla import get_topology_desc as get_topology_desc
from ricci_xla import make_topology_mesh as make_mesh

_guard_public(globals())
