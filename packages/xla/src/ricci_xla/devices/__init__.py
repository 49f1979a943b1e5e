"""Clients, plugins and devices: what jaxlib is asked for before anything runs."""

from ._client import *
from ._environment import *
from ._errors import *
from ._state import *
