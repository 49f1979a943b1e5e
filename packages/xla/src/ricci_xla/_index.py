"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_xla.arrays._assembly": (
        "make_array_from_callback make_array_from_process_local_data "
        "make_array_from_single_device_arrays"
    ),
    "ricci_xla.calls._compiled": "ArgInfo Compiled",
    "ricci_xla.calls._located": (
        "LocatedProgram compile_for_sizes compile_with_lines devices_of is_spread trace_call"
    ),
    "ricci_xla.calls._stages": "Lowered Traced",
    "ricci_xla.compile._hlo_computation": "xla_computation",
    "ricci_xla.compile._partitioners": "Division Partitioner ShardingInspector undivided",
    "ricci_xla.devices._coordination": (
        "Security connect_to_coordinator start_coordination_service start_preemption_service"
    ),
    "ricci_xla.devices._environment": "print_environment_info setup_tpu",
    "ricci_xla.meshes._arrangement": (
        "create_device_mesh create_hybrid_device_mesh device_kind_handler_dict"
    ),
    "ricci_xla.meshes._make_mesh": "make_mesh make_topology_mesh",
}
