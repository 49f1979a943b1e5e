"""By module, the public names of this package, which are imported at their first use.

Written by `tools/name_index.py` from the modules' `__all__`.
"""

# fmt: off
MODULES = {
    "ricci_random.samplers._binomial": "binomial multinomial",
    "ricci_random.samplers._choices": "categorical choice permutation",
    "ricci_random.samplers._gamma": "gamma loggamma random_gamma_p",
    "ricci_random.samplers._gamma_family": "ball beta chisquare dirichlet f generalized_normal t",
    "ricci_random.samplers._inversion": (
        "cauchy exponential geometric gumbel laplace logistic pareto rayleigh triangular "
        "weibull_min"
    ),
    "ricci_random.samplers._normal": (
        "double_sided_maxwell lognormal maxwell multivariate_normal normal orthogonal "
        "truncated_normal wald"
    ),
    "ricci_random.samplers._poisson": "poisson",
    "ricci_random.samplers._uniform": "bernoulli bits rademacher randint uniform",
}
