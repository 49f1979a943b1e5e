"""The version of the plugin, which jaxlib compares with its own."""

from jaxlib import version

__version__ = version.__version__
