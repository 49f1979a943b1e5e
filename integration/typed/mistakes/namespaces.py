"""Names that are not there. Type checkers must report each marked line, and no other."""

import jax
import jax.numpy as jnp
import ricci
import ricci.numpy as np
from ricci import gradient  # mistake
from ricci.numpy import sine  # mistake
from ricci.scipy import specials  # mistake

print(ricci.jitt)  # mistake
print(ricci.nump)  # mistake
print(np.sine)  # mistake
print(np.linalg.norms)  # mistake
print(ricci.lax.scans)  # mistake
print(ricci.scipy.special.logsumexps)  # mistake
print(jax.jitt)  # mistake
print(jax.nump)  # mistake
print(jnp.sine)  # mistake
print(jax.tree.mapp)  # mistake
print(jax.scipy.special.logsumexps)  # mistake
print(np.pi, jnp.pi, np.linalg.norm, np.fft.fft, jax.scipy.special.logsumexp)
