"""Higher derivatives by power series. See ``ricci_lax.jets``."""

from ricci_ir import guard_public as _guard_public
from ricci_lax.jets import JetTrace as JetTrace
from ricci_lax.jets import JetTracer as JetTracer
from ricci_lax.jets import ZeroSeries as ZeroSeries
from ricci_lax.jets import ZeroTerm as ZeroTerm
from ricci_lax.jets import def_comp as def_comp
from ricci_lax.jets import def_deriv as def_deriv
from ricci_lax.jets import deflinear as deflinear
from ricci_lax.jets import defzero as defzero
from ricci_lax.jets import deriv_prop as deriv_prop
from ricci_lax.jets import fact as fact
from ricci_lax.jets import jet as jet
from ricci_lax.jets import jet2 as jet2
from ricci_lax.jets import jet_rules as jet_rules
from ricci_lax.jets import linear_prop as linear_prop
from ricci_lax.jets import zero_prop as zero_prop
from ricci_lax.jets import zero_series as zero_series
from ricci_lax.jets import zero_term as zero_term

_guard_public(globals())
