"""Devices and their setup: clients, plugins, options."""

from ._client import *
from ._errors import *
from ._jaxlib_options import *
from ._kernel_descriptors import *
from ._listing import *
from ._machine import *
from ._platforms import *
from ._runtime_types import *
from ._topologies import *
