"""Compiled programs in a folder, for the next process. ``docs/guides/starting.md`` says how."""

from ricci_ir import export_names as _export_names

from . import compilation_cache as compilation_cache

_export_names(globals(), "compilation_cache")
