"""The errors that Ricci raises beside Python's own.

    python -m ricci.errors CODE

prints the page with which a message ends; without a code, it lists the pages.
"""

from ricci_ir import ConcretizationTypeError as ConcretizationTypeError
from ricci_ir import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from ricci_ir import JAXIndexError as JAXIndexError
from ricci_ir import JaxprTypeError as JaxprTypeError
from ricci_ir import JAXTypeError as JAXTypeError
from ricci_ir import KeyReuseError as KeyReuseError
from ricci_ir import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from ricci_ir import TracerArrayConversionError as TracerArrayConversionError
from ricci_ir import TracerBoolConversionError as TracerBoolConversionError
from ricci_ir import TracerIntegerConversionError as TracerIntegerConversionError
from ricci_ir import UnexpectedTracerError as UnexpectedTracerError
from ricci_ir import export_names as _export_names
from ricci_xla import JaxRuntimeError as JaxRuntimeError

_export_names(globals())
