"""The version of the installed distribution; in a separate module, since the query takes 90 ms."""

from importlib import metadata

__version__ = metadata.version("ricci")
