"""Writes the data of the jobs to one file: scikit-learn's bundled sets and this project's docs.

`python make_data.py FILE`, where scikit-learn is installed. The jobs read the file with NumPy
alone, so that what they import, and in which time, is what they need themselves.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, load_digits, load_iris

ROOT = Path(__file__).resolve().parents[2]


def standardized(features: np.ndarray) -> np.ndarray:
    """Each column with mean 0 and variance 1."""
    return ((features - features.mean(0)) / features.std(0)).astype(np.float32)


def main(file: str) -> None:
    """Write digits (8 × 8 images, shuffled), iris, diabetes, and a text as bytes."""
    rng = np.random.default_rng(0)
    digits, iris, diabetes = load_digits(), load_iris(), load_diabetes()
    order, patients = rng.permutation(len(digits.target)), rng.permutation(len(diabetes.target))
    targets = diabetes.target[patients]
    np.savez(
        file,
        images=(digits.images[order] / 16).astype(np.float32),
        labels=digits.target[order].astype(np.int32),
        flowers=standardized(iris.data),
        species=iris.target.astype(np.int32),
        patients=standardized(diabetes.data[patients]),
        progression=((targets - targets.mean()) / targets.std()).astype(np.float32),
        text=np.frombuffer((ROOT / "docs" / "architecture.md").read_bytes(), np.uint8),
    )


if __name__ == "__main__":
    main(sys.argv[1])
