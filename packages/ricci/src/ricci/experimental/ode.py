"""Ordinary differential equations. See ``ricci_scipy.ode``."""

from ricci_ir import guard_public as _guard_public
from ricci_scipy.ode import abs2 as abs2
from ricci_scipy.ode import fit_4th_order_polynomial as fit_4th_order_polynomial
from ricci_scipy.ode import initial_step_size as initial_step_size
from ricci_scipy.ode import interp_fit_dopri as interp_fit_dopri
from ricci_scipy.ode import mean_error_ratio as mean_error_ratio
from ricci_scipy.ode import odeint as odeint
from ricci_scipy.ode import optimal_step_size as optimal_step_size
from ricci_scipy.ode import ravel_first_arg as ravel_first_arg
from ricci_scipy.ode import runge_kutta_step as runge_kutta_step

_guard_public(globals())
