"""Models whose gradients ``fit_memory`` brings under limits, beside policies written by hand."""

from .models import MODELS as MODELS
from .models import Model as Model
from .policies import POLICIES as POLICIES
from .policies import Policy as Policy
from .table import SHARES as SHARES
from .table import Row as Row
from .table import rows as rows
from .table import step_of as step_of
