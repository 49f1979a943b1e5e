"""The place in the user's code, the names around it, and which frames are the user's."""

from ricci_compat.source_info_util import SourceInfo as SourceInfo
from ricci_compat.source_info_util import current as current
from ricci_compat.source_info_util import current_name_stack as current_name_stack
from ricci_compat.source_info_util import extend_name_stack as extend_name_stack
from ricci_compat.source_info_util import new_name_stack as new_name_stack
from ricci_compat.source_info_util import new_source_info as new_source_info
from ricci_compat.source_info_util import reset_name_stack as reset_name_stack
from ricci_compat.source_info_util import set_name_stack as set_name_stack
from ricci_compat.source_info_util import summarize as summarize
from ricci_compat.source_info_util import transform_name_stack as transform_name_stack
from ricci_compat.source_info_util import user_context as user_context
from ricci_ir import NameStack as NameStack
from ricci_ir import guard_public as _guard_public
from ricci_ir import register_exclusion as register_exclusion

_guard_public(globals(), classes=False)
