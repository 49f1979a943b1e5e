"""The place in the user's code, the names around it, and which frames are the user's."""

from ricci_ir import NameStack as NameStack
from ricci_ir import SourceInfo as SourceInfo
from ricci_ir import current_name_stack as current_name_stack
from ricci_ir import current_source_info as _current_source_info
from ricci_ir import extend_name_stack as extend_name_stack
from ricci_ir import guard_public as _guard_public
from ricci_ir import new_name_stack as new_name_stack
from ricci_ir import new_source_info as new_source_info
from ricci_ir import register_exclusion as register_exclusion
from ricci_ir import reset_name_stack as reset_name_stack
from ricci_ir import set_name_stack as set_name_stack
from ricci_ir import summarize_source as _summarize_source
from ricci_ir import transform_name_stack as transform_name_stack
from ricci_ir import user_context as user_context

current = _current_source_info
summarize = _summarize_source

_guard_public(globals(), classes=False)
