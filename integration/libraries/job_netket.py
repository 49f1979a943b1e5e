"""The ground state of a chain of spins by NetKet, beside the exact one."""

import netket as nk
import numpy as np

STEPS = 60
QUALITY = {"closeness_to_exact": 0.99}


def train(data):
    graph = nk.graph.Chain(10, pbc=True)
    space = nk.hilbert.Spin(0.5, graph.n_nodes)
    energy = nk.operator.Ising(space, graph, h=1.0)
    state = nk.vqs.MCState(
        nk.sampler.MetropolisLocal(space, n_chains=16),
        nk.models.RBM(alpha=1),
        n_samples=512,
        n_discard_per_chain=10,
        seed=0,
        sampler_seed=1,
    )
    driver = nk.driver.VMC(
        energy,
        nk.optimizer.Sgd(0.05),
        variational_state=state,
        preconditioner=nk.optimizer.SR(diag_shift=0.01),
    )
    for _ in range(STEPS):
        driver.run(1, out=(), show_progress=False)
        yield np.real(driver.energy.mean)
    exact = nk.exact.lanczos_ed(energy)[0]
    return {"closeness_to_exact": 1 - abs((np.real(state.expect(energy).mean) - exact) / exact)}
