#!/usr/bin/env python3
"""Writes the expected outputs that `breakeven_stats::log_ratio_tests` is tested against.

    pip install numpy scipy inmoose matplotlib
    python bench/peers/shared_variance_vectors.py

makes crates/breakeven-stats/tests/data/shared_variance_vectors.json anew. The
common variance and its degrees of freedom are those of `squeezeVar` in InMoose,
the Python port of limma (whose authors the method is from), where no variance lies
apart. Where one does, they are of a second fit, written here with SciPy's functions.
Welch's squared error and the t distribution are NumPy's and SciPy's.
"""

import importlib.metadata
import json
import pathlib

import numpy as np
from inmoose.limma.squeezeVar import squeezeVar
from scipy import optimize, special, stats

OUT = (
    pathlib.Path(__file__).resolve().parents[2]
    / "crates/breakeven-stats/tests/data/shared_variance_vectors.json"
)
RNG = np.random.default_rng(20261121)


def weighted_fit(variance, freedom, weights):
    """Degrees of freedom and variance of the prior, by weighted moments of logarithms."""
    half = freedom / 2
    logs = np.log(variance) - special.digamma(half) + np.log(half)
    mean = np.average(logs, weights=weights)
    total = weights.sum()
    spread = np.average((logs - mean) ** 2, weights=weights) * total / (total - 1)
    true = spread - np.average(special.polygamma(1, half), weights=weights)
    if true <= 0:
        return np.inf, np.average(variance, weights=weights)
    half = optimize.brentq(lambda x: special.polygamma(1, x) - true, 1e-3, 1e9, xtol=1e-14)
    return 2 * half, np.exp(mean + special.digamma(half) - np.log(half))


def tails(variance, freedom, prior, common):
    if np.isinf(prior):
        return stats.chi2.sf(freedom * variance / common, freedom)
    return stats.f.sf(variance / common, freedom, prior)


def squeeze(variance, freedom):
    """Each operation's variance and the degrees of freedom that it has of the prior."""
    squeezed = squeezeVar(variance, freedom)
    prior, common = float(squeezed["df_prior"]), float(squeezed["var_prior"])
    one_sided = tails(variance, freedom, prior, common)
    rates = stats.false_discovery_control(2 * np.minimum(one_sided, 1 - one_sided))
    weights = np.where(rates > 0.01, 1.0, rates)
    own = np.full(len(variance), prior)
    if (weights < 1).any() and weights.sum() >= 2:
        prior, common = weighted_fit(variance, freedom, weights)
        upper = tails(variance, freedom, prior, common)
        by_rank = (stats.rankdata(upper) - 0.5) / len(upper)
        fits = np.minimum(upper / by_rank, 1)
        own = np.where(fits < 1, fits * min(prior, freedom.sum()), prior)
        order = np.argsort(upper)
        apart = [index for index in order if fits[index] < 1]
        own[apart] = np.maximum.accumulate(own[apart])
    post = np.full(len(variance), common)
    some = np.isfinite(own)
    post[some] = ((own * common + freedom * variance) / (own + freedom))[some]
    return post, own


def case(operations, n0, n1, noise, spread, apart=1.0):
    """`spread` is how far the noise differs from operation to operation, as a logarithm;
    the first operation is noisier by `apart`."""
    deviations = noise * np.exp(spread * RNG.standard_normal(operations))
    deviations[0] *= apart
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
    post, prior = squeeze(error / share, freedom)
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
        case(20, 5, 5, 0.01, 0.0, apart=10.0),
        case(30, 5, 5, 0.01, 0.3, apart=20.0),
    ]
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "inmoose")}
    rows = ",\n".join("  " + json.dumps(each, allow_nan=False) for each in cases)
    head = f'"made_by": "bench/peers/shared_variance_vectors.py",\n"versions": {json.dumps(versions)}'
    OUT.write_text("{\n" + head + ',\n"cases": [\n' + rows + "\n]\n}\n")


if __name__ == "__main__":
    main()
