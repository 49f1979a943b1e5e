"""Pyhf: binned statistical models on its JAX backend: likelihoods, fits and limits."""

import numpy as np
import pyhf

import jax

pyhf.set_backend("jax")


def model():
    return pyhf.simplemodels.uncorrelated_background(
        signal=[12.0, 11.0], bkg=[50.0, 52.0], bkg_uncertainty=[3.0, 7.0]
    )


def correlated():
    return pyhf.simplemodels.correlated_background(
        signal=[5.0, 10.0], bkg=[50.0, 60.0], bkg_up=[58.0, 66.0], bkg_down=[43.0, 55.0]
    )


def data(of):
    return [51.0, 48.0, *of.config.auxdata]


def logpdf(pars):
    return model().logpdf(pars, data(model()))[0]


def tested(**options):
    return pyhf.infer.hypotest(1.0, data(model()), model(), return_expected_set=True, **options)


def limits():
    return pyhf.infer.intervals.upper_limits.upper_limit(
        data(model()), model(), scan=np.array([0.5, 1.0, 1.5, 2.0]), level=0.05
    )


PARAMETERS = pyhf.tensorlib.astensor([1.0, 1.02, 0.97])

CASES = {
    "expected data": lambda: model().expected_data(PARAMETERS),
    "log density": lambda: logpdf(PARAMETERS),
    "gradient": lambda: jax.grad(logpdf)(PARAMETERS),
    "Hessian": lambda: jax.hessian(logpdf)(PARAMETERS),
    "fit": lambda: pyhf.infer.mle.fit(data(model()), model(), return_fitted_val=True),
    "fit, correlated": lambda: pyhf.infer.mle.fit(data(correlated()), correlated()),
    "fit at a fixed signal": lambda: pyhf.infer.mle.fixed_poi_fit(1.0, data(model()), model()),
    "test": tested,
    "test of discovery": lambda: pyhf.infer.hypotest(0.0, data(model()), model(), test_stat="q0"),
    "limits": limits,
    "sampled": lambda: model().make_pdf(PARAMETERS).sample((3,)).shape,
}
