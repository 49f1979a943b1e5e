"""Profiles of the host and the devices."""

from ricci_ir import guard_public as _guard_public
from ricci_xla.profiler import ProfileData as ProfileData
from ricci_xla.profiler import ProfileEvent as ProfileEvent
from ricci_xla.profiler import ProfileLine as ProfileLine
from ricci_xla.profiler import ProfileOptions as ProfileOptions
from ricci_xla.profiler import ProfilePlane as ProfilePlane
from ricci_xla.profiler import ProfileSession as ProfileSession
from ricci_xla.profiler import StepTraceAnnotation as StepTraceAnnotation
from ricci_xla.profiler import TraceAnnotation as TraceAnnotation
from ricci_xla.profiler import annotate_function as annotate_function
from ricci_xla.profiler import device_memory_profile as device_memory_profile
from ricci_xla.profiler import export_profile_data as export_profile_data
from ricci_xla.profiler import register_subprocess as register_subprocess
from ricci_xla.profiler import save_device_memory_profile as save_device_memory_profile
from ricci_xla.profiler import start_server as start_server
from ricci_xla.profiler import start_trace as start_trace
from ricci_xla.profiler import stop_server as stop_server
from ricci_xla.profiler import stop_trace as stop_trace
from ricci_xla.profiler import trace as trace

_guard_public(globals())
