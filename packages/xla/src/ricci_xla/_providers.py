"""The functions that packages below call, each with the module that has it.

These modules are imported at their first use.
"""

from ricci_stablehlo import partitioned_call

partitioned_call.provide_late(f"{__name__.rpartition('.')[0]}.compile._partitioners")
