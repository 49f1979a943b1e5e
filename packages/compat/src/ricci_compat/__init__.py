"""JAX's internal interfaces, for libraries that define primitives or interpret jaxprs.

Each module serves the namespace of Ricci that its first line names, in JAX's forms; Ricci itself
uses none of them, and each is imported when a library asks for its namespace.
"""

from ricci_ir import export_names as _export_names

_export_names(globals())
