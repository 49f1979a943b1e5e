"""Reports on the collectives of an executable, and the lines of the user's code that own them.

Imported when it is first used, since few programs need it.
"""

from ._collective import Collective as Collective
from ._hlo_text import HloModule as HloModule
from ._report import Communication as Communication
from ._report import communication as communication
from ._report import communication_of as communication_of

__all__ = ["Collective", "Communication", "HloModule", "communication", "communication_of"]
