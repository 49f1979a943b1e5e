"""The persistent compilation cache: executables in a folder. See ``docs/guides/starting.md``."""

from ricci_ir import export_names as _export_names

from . import compilation_cache as compilation_cache

_export_names(globals(), "compilation_cache")
