#!/usr/bin/env python3
"""Writes the expected outputs that `breakeven_stats::log_ratio_tests` is tested against.

    pip install numpy scipy inmoose matplotlib
    python bench/peers/shared_variance_vectors.py

makes crates/breakeven-stats/tests/data/shared_variance_vectors.json anew. The
common variance and its degrees of freedom are those of `squeezeVar` in InMoose,
the Python port of limma (whose authors the method is from); Welch's squared
error and the t distribution are NumPy's and SciPy's.
"""

import importlib.metadata
import json
import pathlib

import numpy as np
from inmoose.limma.squeezeVar import squeezeVar
from scipy import stats

OUT = (
    pathlib.Path(__file__).resolve().parents[2]
    / "crates/breakeven-stats/tests/data/shared_variance_vectors.json"
)
RNG = np.random.default_rng(20261121)


def case(operations, n0, n1, noise, spread):
    """`spread` is how far the noise differs from operation to operation, as a logarithm."""
    deviations = noise * np.exp(spread * RNG.standard_normal(operations))
    base = np.exp(RNG.uniform(8, 16, operations))

    def side(n):
        noise = deviations[:, None] * RNG.standard_normal((operations, n))
        return (base[:, None] * np.exp(noise)).round(1).tolist()

    baseline, current = side(n0), side(n1)
    logs0, logs1 = np.log(baseline), np.log(current)
    share0, share1 = logs0.var(axis=1, ddof=1) / n0, logs1.var(axis=1, ddof=1) / n1
    error = share0 + share1
    freedom = error**2 / (share0**2 / (n0 - 1) + share1**2 / (n1 - 1))
    share = 1 / n0 + 1 / n1
    squeezed = squeezeVar(error / share, freedom)
    post, prior = np.asarray(squeezed["var_post"]), float(squeezed["df_prior"])
    total = np.minimum(prior + freedom, freedom.sum())
    difference = logs1.mean(axis=1) - logs0.mean(axis=1)
    standard_error = np.sqrt(post * share)
    return {
        "baseline": baseline,
        "current": current,
        "freedom": total.tolist(),
        "standard_error": standard_error.tolist(),
        "p": (2 * stats.t.sf(np.abs(difference) / standard_error, total)).tolist(),
    }


def main():
    cases = [
        case(2, 5, 5, 0.03, 0.0),
        case(3, 5, 5, 0.03, 1.0),
        case(9, 5, 5, 0.03, 0.0),
        case(9, 5, 5, 0.03, 1.0),
        case(12, 3, 8, 0.1, 0.5),
        case(50, 5, 5, 0.02, 0.3),
        case(20, 2, 2, 0.02, 2.0),
    ]
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "inmoose")}
    rows = ",\n".join("  " + json.dumps(each, allow_nan=False) for each in cases)
    head = f'"made_by": "bench/peers/shared_variance_vectors.py",\n"versions": {json.dumps(versions)}'
    OUT.write_text("{\n" + head + ',\n"cases": [\n' + rows + "\n]\n}\n")


if __name__ == "__main__":
    main()
