"""The version of the installed distribution; in a module of its own, since asking takes 90 ms."""

from importlib import metadata

__version__ = metadata.version("ricci")
