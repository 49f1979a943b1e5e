"""Rotations in space as unit quaternions, and interpolation between them."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

import ricci_numpy as jnp
import ricci_random as random
from ricci_ir import Array, ArrayLike, DTypeLike, Index, inlined

_AXES = {"x": 0, "y": 1, "z": 2}


def _inexact(name: str, x: ArrayLike, *sizes: int) -> Array:
    """``x`` as an array of floats whose last dimensions have given sizes."""
    x = jnp.asarray(x)
    if x.shape[-len(sizes) :] != sizes:
        raise ValueError(
            f"{name}: expected an array of shape {(..., *sizes)}, got {x.shape}.".replace(
                "Ellipsis", "..."
            )
        )
    return x if jnp.issubdtype(x.dtype, np.inexact) else x.astype(jnp.result_type(float))


@inlined("normalise")
def _normalised(q: Array) -> Array:
    return q / jnp.linalg.norm(q, axis=-1, keepdims=True)


@inlined("compose_rotations")
def _product(p: Array, q: Array) -> Array:
    """The product of quaternions: first ``q``, then ``p``."""
    p, q = jnp.broadcast_arrays(p, q)
    vector = p[..., 3:] * q[..., :3] + q[..., 3:] * p[..., :3]
    vector = vector + jnp.cross(p[..., :3], q[..., :3])
    scalar = p[..., 3:] * q[..., 3:] - jnp.sum(p[..., :3] * q[..., :3], -1, keepdims=True)
    return _normalised(jnp.concatenate([vector, scalar], -1))


@inlined("canonical_quaternion")
def _canonical(q: Array) -> Array:
    """``q`` or ``-q``, the same rotation: the one whose first nonzero of w, x, y, z is positive."""
    sign: Array | int = 0
    for part in (q[..., 3], q[..., 0], q[..., 1], q[..., 2]):
        sign = jnp.where(sign == 0, jnp.sign(part), sign)
    return jnp.where(jnp.less(sign, 0)[..., None], -q, q)


def _axes_of(seq: str) -> tuple[list[int], bool]:
    """The axes of a sequence of rotations, and whether they are fixed in space."""
    letters = seq.lower()
    is_known = 1 <= len(seq) <= 3 and all(c in _AXES for c in letters)
    if not is_known or seq not in (letters, seq.upper()):
        raise ValueError(
            f"Rotation: seq={seq!r} is not a sequence of axes; it has 1 to 3 letters, of 'xyz' for "
            "fixed axes, or of 'XYZ' for axes that turn."
        )
    if any(a == b for a, b in zip(letters, letters[1:], strict=False)):
        raise ValueError(f"Rotation: seq={seq!r} names an axis twice in a row.")
    return [_AXES[c] for c in letters], seq == letters


@inlined("quaternion_of_matrix")
def _quaternion_of_matrix(m: Array) -> Array:
    diagonal = jnp.diagonal(m, axis1=-2, axis2=-1)
    trace = jnp.sum(diagonal, -1)
    # Row i holds four times the products of component i with every component; the row of the
    # largest component is the most precise.
    rows = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        products = {
            i: 1 - trace + 2 * m[..., i, i],
            j: m[..., j, i] + m[..., i, j],
            k: m[..., k, i] + m[..., i, k],
            3: m[..., k, j] - m[..., j, k],
        }
        rows.append(jnp.stack([products[n] for n in range(4)], -1))
    off = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)]
    rows.append(jnp.stack([*off, 1 + trace], -1))
    largest = jnp.argmax(jnp.concatenate([diagonal, trace[..., None]], -1), -1)
    table = jnp.stack(rows, -2)
    row = jnp.take_along_axis(table, largest[..., None, None], axis=-2)[..., 0, :]
    return _normalised(row)


@inlined("quaternion_of_vector")
def _quaternion_of_vector(v: Array) -> Array:
    square = jnp.sum(v * v, -1, keepdims=True)
    is_small = square < 1e-6
    angle = jnp.sqrt(jnp.where(is_small, 1, square))
    # sin(angle / 2) / angle by its series, since at 0 it is 0 / 0.
    series = 0.5 - square / 48 + square * square / 3840
    scale = jnp.where(is_small, series, jnp.sin(angle / 2) / angle)
    cosine = jnp.where(is_small, 1 - square / 8 + square * square / 384, jnp.cos(angle / 2))
    return _normalised(jnp.concatenate([scale * v, cosine], -1))


@inlined("quaternion_of_angles")
def _quaternion_of_angles(half: Array, *, axes: tuple[int, ...], is_fixed: bool) -> Array:
    total: Array | None = None
    for n, axis in enumerate(axes):
        parts = [jnp.zeros_like(half[..., n])] * 3
        parts[axis] = jnp.sin(half[..., n])
        q = jnp.stack([*parts, jnp.cos(half[..., n])], -1)
        if total is None:
            total = q
        else:
            total = _product(q, total) if is_fixed else _product(total, q)
    return cast(Array, total)


@inlined("matrix_of_quaternion")
def _matrix_of(q: Array) -> Array:
    v, w = q[..., :3], q[..., 3]
    # The matrix is 2 v vᵀ + 2 w [v]× + (w² - v·v) I.
    outer = 2 * v[..., :, None] * v[..., None, :]
    x, y, z = (v[..., i] * w * 2 for i in range(3))
    zero = jnp.zeros_like(x)
    skew = jnp.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1)
    scale = (w * w - jnp.sum(v * v, -1))[..., None, None]
    skew = skew.reshape(*skew.shape[:-1], 3, 3)
    return outer + skew + scale * jnp.broadcast_to(jnp.eye(3, dtype=q.dtype), outer.shape)


@inlined("vector_of_quaternion")
def _vector_of(q: Array) -> Array:
    q = jnp.where(q[..., 3:] < 0, -q, q)
    square = jnp.sum(q[..., :3] ** 2, -1, keepdims=True)
    is_small = square < 2.5e-7
    length = jnp.sqrt(jnp.where(is_small, 1, square))
    angle = 2 * jnp.arctan2(length, q[..., 3:])
    # The angle divided by the sine of its half, for small angles as a series in the angle's square.
    small = 4 * square
    scale = jnp.where(is_small, 2 + small / 12 + 7 * small * small / 2880, angle / length)
    return scale * q[..., :3]


class Rotation(NamedTuple):
    """One rotation in space, or several, as unit quaternions (x, y, z, w).

    Attributes:
      quat: the quaternions, of shape ``(..., 4)``.

    Example:
      >>> import numpy as np
      >>> import ricci.numpy as jnp
      >>> from ricci.scipy.spatial import transform
      >>> quarter = transform.Rotation.from_euler("z", np.float32(90.0), degrees=True)
      >>> jnp.abs(quarter.apply(np.float32([1.0, 0.0, 0.0])).round(3)).tolist()
      [0.0, 1.0, 0.0]

    Source: scipy.spatial.transform.Rotation.
    """

    # An array. Type checkers infer the first field of the tuple for ``rotations[0]``, not a
    # rotation; with ``Array`` they would report an error there.
    quat: Any

    @classmethod
    def from_quat(cls, quat: ArrayLike) -> "Rotation":
        """Rotations by quaternions of shape ``(..., 4)``, which are normalised."""
        return cls(_normalised(_inexact("Rotation.from_quat", quat, 4)))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> "Rotation":
        """Rotations by orthogonal matrices of shape ``(..., 3, 3)`` and determinant 1."""
        m = _inexact("Rotation.from_matrix", matrix, 3, 3)
        return cls(_quaternion_of_matrix(m))

    @classmethod
    def from_rotvec(cls, rotvec: ArrayLike, degrees: bool = False) -> "Rotation":
        """Rotations about vectors of shape ``(..., 3)``, whose lengths are the angles."""
        v = _inexact("Rotation.from_rotvec", rotvec, 3)
        v = jnp.deg2rad(v) if degrees else v
        return cls(_quaternion_of_vector(v))

    @classmethod
    def from_mrp(cls, mrp: ArrayLike) -> "Rotation":
        """Rotations by modified Rodrigues parameters of shape ``(..., 3)``."""
        v = _inexact("Rotation.from_mrp", mrp, 3)
        square = jnp.sum(v * v, -1, keepdims=True)
        # The parameters are the axis times tan(angle / 4), so that the quaternion is parallel to (2
        # v, 1 - v·v).
        return cls(_normalised(jnp.concatenate([2 * v, 1 - square], -1)))

    @classmethod
    def from_euler(cls, seq: str, angles: ArrayLike, degrees: bool = False) -> "Rotation":
        """Rotations about axes, one after another.

        Args:
          seq: the axes: 1 to 3 of ``"xyz"`` for fixed axes, of ``"XYZ"`` for axes that rotate.
          angles: of shape ``(..., len(seq))``; for one axis also a scalar or a vector.
          degrees: whether angles are in degrees.

        Raises:
          ValueError: if ``seq`` is invalid, or the angles do not fit.
        """
        axes, is_fixed = _axes_of(seq)
        angles = jnp.asarray(angles, jnp.result_type(angles))
        if len(axes) == 1 and angles.shape[-1:] != (1,):
            angles = angles[..., None]
        angles = _inexact("Rotation.from_euler", angles, len(axes))
        half = (jnp.deg2rad(angles) if degrees else angles) / 2
        return cls(_quaternion_of_angles(half, axes=tuple(axes), is_fixed=is_fixed))

    @classmethod
    def identity(cls, num: int | None = None, dtype: DTypeLike = float) -> "Rotation":
        """The identity rotation, or ``num`` of them."""
        q = jnp.asarray([0.0, 0.0, 0.0, 1.0], dtype=jnp.result_type(dtype))
        return cls(q if num is None else jnp.tile(q, (num, 1)))

    @classmethod
    def random(cls, random_key: Array, num: int | None = None) -> "Rotation":
        """A uniformly distributed random rotation, or ``num`` of them."""
        shape = (4,) if num is None else (num, 4)
        # The distribution of four normal numbers has no preferred direction: quotients by their
        # length are uniform on the sphere of unit quaternions.
        return cls(_normalised(random.normal(random_key, shape)))

    @classmethod
    def concatenate(cls, rotations: Sequence["Rotation"]) -> "Rotation":
        """One object with the rotations of several."""
        return cls(jnp.concatenate([jnp.atleast_2d(r.quat) for r in rotations]))

    @property
    def single(self) -> bool:
        """Whether there is one rotation, rather than an array of them."""
        return self.quat.ndim == 1

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Array:
        """Quaternions of shape ``(..., 4)``.

        Args:
          canonical: whether to return, of the two for each rotation, the one with positive w.
          scalar_first: whether w comes first.
        """
        q = _canonical(self.quat) if canonical else self.quat
        return jnp.roll(q, 1, -1) if scalar_first else q

    def as_matrix(self) -> Array:
        """Matrices of shape ``(..., 3, 3)``."""
        return _matrix_of(self.quat)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Vectors of shape ``(..., 3)``: axes, as long as the angle, which is π at most."""
        v = _vector_of(self.quat)
        return jnp.rad2deg(v) if degrees else v

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters of shape ``(..., 3)``."""
        sign = jnp.where(self.quat[..., 3:] < 0, -1.0, 1.0).astype(self.quat.dtype)
        return sign * self.quat[..., :3] / (1 + sign * self.quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles of shape ``(..., 3)`` about three axes; if several are possible, one choice.

        Args:
          seq: as for ``from_euler``, three axes.
          degrees: whether to return degrees.

        Raises:
          ValueError: if ``seq`` is invalid.

        Source: Bernardes and Viollet, "Quaternion to Euler angles conversion", 2022.
        """
        axes, is_fixed = _axes_of(seq)
        if len(axes) != 3:
            raise ValueError(f"Rotation.as_euler: three axes are needed, got {seq!r}.")
        angles = _euler_angles(self.quat, axes=tuple(axes), is_fixed=is_fixed)
        return jnp.rad2deg(angles) if degrees else angles

    def apply(self, vectors: ArrayLike, inverse: bool = False) -> Array:
        """Rotate vectors of shape ``(..., 3)``; with ``inverse`` by the inverse rotations."""
        v = _inexact("Rotation.apply", vectors, 3)
        m = self.as_matrix()
        m = jnp.swapaxes(m, -1, -2) if inverse else m
        return jnp.einsum("...ij,...j->...i", m, v, precision="highest")

    def inv(self) -> "Rotation":
        """The inverse rotations."""
        return Rotation(jnp.concatenate([-self.quat[..., :3], self.quat[..., 3:]], -1))

    def magnitude(self) -> Array:
        """The angles of the rotations, between 0 and π."""
        length = jnp.linalg.norm(self.quat[..., :3], axis=-1)
        return 2 * jnp.arctan2(length, jnp.abs(self.quat[..., 3]))

    def mean(self, weights: ArrayLike | None = None) -> "Rotation":
        """The rotation nearest to all in the mean of squares.

        Args:
          weights: the weight of each rotation, not negative.
        """
        q = jnp.atleast_2d(self.quat)
        w = jnp.ones(q.shape[0], q.dtype) if weights is None else jnp.asarray(weights, q.dtype)
        # The eigenvector of the largest eigenvalue; the sign of a quaternion does not matter, since
        # only its products with itself are summed.
        _, vectors = jnp.linalg.eigh(jnp.einsum("i,ij,ik->jk", w, q, q, precision="highest"))
        return Rotation(vectors[:, -1])

    def __mul__(self, other: object) -> "Rotation":  # type: ignore[override]
        """The composition: first ``other``, then this rotation."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(_product(self.quat, other.quat))

    def __getitem__(self, index: Index) -> "Rotation":  # type: ignore[override]
        """The rotations at an index."""
        if self.single:
            raise TypeError("Rotation: a single rotation cannot be indexed.")
        return Rotation(self.quat[index])

    def __len__(self) -> int:
        """The number of rotations."""
        if self.single:
            raise TypeError("Rotation: a single rotation has no length.")
        return self.quat.shape[0]

    def __bool__(self) -> bool:
        """True, also for a single rotation, which has no length."""
        return True


@inlined("angles_of_quaternion")
def _euler_angles(q: Array, *, axes: tuple[int, ...], is_fixed: bool) -> Array:
    i, j, k = axes if is_fixed else axes[::-1]
    is_symmetric = i == k
    k = 3 - i - j if is_symmetric else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x = [q[..., n] for n in range(4)]
    if is_symmetric:
        a, b, c, d = x[3], x[i], x[j], sign * x[k]
    else:
        a, b, c, d = x[3] - x[j], x[i] + sign * x[k], x[j] + x[3], sign * x[k] - x[i]
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    first, third = half_sum - half_difference, half_sum + half_difference
    if not is_fixed:
        first, third = third, first
    # At the ends of its range the middle angle leaves only the sum or the difference of the other
    # two determined (gimbal lock); the third is set to 0.
    is_zero, is_pi = jnp.abs(middle) <= 1e-7, jnp.abs(middle - np.pi) <= 1e-7
    alone = jnp.where(is_zero, 2 * half_sum, (-2 if is_fixed else 2) * half_difference)
    is_degenerate = jnp.logical_or(is_zero, is_pi)
    first = jnp.where(is_degenerate, alone, first)
    third = jnp.where(is_degenerate, 0, third)
    if not is_symmetric:
        first, third = (first, sign * third) if is_fixed else (sign * first, third)
        middle = middle - np.pi / 2
    angles = jnp.stack([first, middle, third], -1)
    angles = jnp.where(angles < -np.pi, angles + 2 * np.pi, angles)
    return jnp.where(angles > np.pi, angles - 2 * np.pi, angles)


class Slerp(NamedTuple):
    """Spherical linear interpolation of rotations, at constant speed from each to the next.

    Attributes:
      times, timedelta: the times of the rotations, and their differences.
      rotations: the rotations, without the last one.
      rotvecs: the turn from each to the next, as a vector.

    Example:
      >>> import numpy as np
      >>> from ricci.scipy.spatial import transform
      >>> ends = transform.Rotation.from_euler("z", np.float32([0.0, 90.0]), degrees=True)
      >>> turn = transform.Slerp.init(np.float32([0.0, 1.0]), ends)
      >>> round(float(turn(np.float32(0.5)).as_euler("xyz", degrees=True)[2]), 3)
      45.0

    Source: scipy.spatial.transform.Slerp.
    """

    times: Array
    timedelta: Array
    rotations: Rotation
    rotvecs: Array

    @classmethod
    def init(cls, times: ArrayLike, rotations: Rotation) -> "Slerp":
        """Make an interpolator from ascending times of shape ``(n,)`` and n rotations.

        Raises:
          ValueError: if there are less than two rotations, or not one for each time.
        """
        if not isinstance(rotations, Rotation) or rotations.single or len(rotations) < 2:
            raise ValueError("Slerp: rotations must be a Rotation of two rotations at least.")
        times = jnp.asarray(times, rotations.quat.dtype)
        if times.shape != (len(rotations),):
            raise ValueError(
                f"Slerp: there must be a time for each of the {len(rotations)} rotations, got "
                f"shape {times.shape}."
            )
        start, end = Rotation(rotations.quat[:-1]), Rotation(rotations.quat[1:])
        return cls(times, jnp.diff(times), start, (start.inv() * end).as_rotvec())

    def __call__(self, times: ArrayLike) -> Rotation:
        """The rotations at times; outside of the given ones they are extrapolated."""
        times = jnp.asarray(times, self.times.dtype)
        place = jnp.searchsorted(self.times, times, side="right") - 1
        place = jnp.clip(place, 0, len(self.rotations) - 1)
        share = (times - self.times[place]) / self.timedelta[place]
        turn = Rotation.from_rotvec(self.rotvecs[place] * share[..., None])
        return self.rotations[place] * turn
