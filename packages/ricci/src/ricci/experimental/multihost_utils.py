"""What processes tell each other."""

from ricci_ir import export_names as _export_names
from ricci_parallel import assert_equal as assert_equal
from ricci_parallel import broadcast_one_to_all as broadcast_one_to_all
from ricci_parallel import global_array_to_host_local_array as global_array_to_host_local_array
from ricci_parallel import host_local_array_to_global_array as host_local_array_to_global_array
from ricci_parallel import process_allgather as process_allgather
from ricci_parallel import reached_preemption_sync_point as reached_preemption_sync_point
from ricci_parallel import sync_global_devices as sync_global_devices

_export_names(globals())
