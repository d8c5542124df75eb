#!/usr/bin/env python3
"""Writes the expected outputs that the statistics are tested against.

    pip install numpy scipy statsmodels
    python bench/peers/stats_vectors.py

makes crates/breakeven-stats/tests/data/stats_vectors.json anew, from SciPy,
statsmodels and NumPy. Inputs come from a fixed seed and are rounded, so that the
file stays small and two runs with the same package versions write the same bytes.
"""

import json
import math
import pathlib
import platform
import warnings

import numpy as np
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestIndPower

OUT = (
    pathlib.Path(__file__).resolve().parents[2]
    / "crates/breakeven-stats/tests/data/stats_vectors.json"
)
RNG = np.random.default_rng(20240607)


def normal(n, mean=10.0, deviation=2.0, digits=3):
    return RNG.normal(mean, deviation, n).round(digits).tolist()


def lognormal(n, median=100.0, sigma=0.05, digits=3):
    return (median * RNG.lognormal(0.0, sigma, n)).round(digits).tolist()


def whole(n, below):
    """Few different values, so many ties."""
    return RNG.integers(0, below, n).astype(float).tolist()


def quantiles():
    qs = [0.0, 0.01, 0.25, 0.5, 0.77, 0.95, 0.99, 1.0]
    samples = [[3.5], [1.0, 2.0], [1.0, 1.0, 4.0], normal(10), normal(33), whole(20, 5)]
    samples += [[-1e130, 1e130], [1e-130, 2e-130, 5e-130]]
    return [
        {"values": v, "q": qs, "expected": np.quantile(v, qs, method="linear").tolist()}
        for v in samples
    ]


def summaries():
    samples = [[1.0, 2.0], [5.0, 5.0, 5.0], normal(12), lognormal(40), normal(9, 1e9, 1.0)]
    return [
        {
            "values": v,
            "total": math.fsum(v),
            "mean": float(np.mean(v)),
            "deviation": float(np.std(v, ddof=1)),
            "cv": float(stats.variation(v, ddof=1)),
            "median": float(np.median(v)),
        }
        for v in samples
    ]


def log_ratios():
    pairs = [
        ([100.0, 101.0], [103.0, 104.5]),
        (lognormal(2), lognormal(3, 110)),
        (lognormal(3), lognormal(3, 90)),
        (lognormal(5), lognormal(5)),
        (lognormal(5, 100, 0.01), lognormal(8, 103, 0.08)),
        (lognormal(20), lognormal(12, 104)),
        # One of ten lies far out at each end: Yuen's test, trimmed by a tenth.
        ([30, 97, 99, 100, 101, 103, 104, 107, 109, 180],
         [20, 111, 112, 113, 114, 116, 117, 118, 119, 230]),
        ([50.0, 50.0, 50.0], lognormal(4, 51, 0.02)),
        ([1e-9, 1.1e-9, 0.9e-9], [2e-9, 1e-8, 3e-9]),
    ]
    cases = []
    for baseline, current in pairs:
        trim = 0.1 if baseline[-1] == 180 else 0.0
        for level in (0.95, 0.8):
            found = stats.ttest_ind(np.log(current), np.log(baseline), equal_var=False, trim=trim)
            interval = found.confidence_interval(level)
            cases.append({
                "baseline": baseline,
                "current": current,
                "level": level,
                "p": float(found.pvalue),
                "freedom": float(found.df),
                "ratio": math.exp(stats.trim_mean(np.log(current), trim)
                                  - stats.trim_mean(np.log(baseline), trim)),
                "lower": math.exp(interval.low),
                "upper": math.exp(interval.high),
            })
    return cases


def bootstraps():
    """Ends differ by resampling noise: the test allows 6 % of the width."""
    cases = []
    statistics = {"mean": np.mean, "deviation": lambda v, axis: np.std(v, axis=axis, ddof=1)}
    samples = [normal(25), lognormal(30, 10, 0.8), np.round(RNG.exponential(3, 20), 3).tolist()]
    for values in samples:
        for name, statistic in statistics.items():
            found = stats.bootstrap(
                (values,), statistic, method="percentile", n_resamples=40000,
                confidence_level=0.95, vectorized=True, rng=np.random.default_rng(1),
            ).confidence_interval
            cases.append({"values": values, "statistic": name,
                          "lower": float(found.low), "upper": float(found.high)})
    return cases


def median_ratios():
    cases = []
    samples = [(lognormal(31, 100, 0.2), lognormal(41, 120, 0.2)), (lognormal(15), lognormal(60))]
    for a, b in samples:
        found = stats.bootstrap(
            (a, b), lambda x, y, axis: np.median(y, axis=axis) / np.median(x, axis=axis),
            method="percentile", n_resamples=40000, vectorized=True,
            rng=np.random.default_rng(1),
        ).confidence_interval
        cases.append({"baseline": a, "current": b,
                      "lower": float(found.low), "upper": float(found.high)})
    return cases


def corrections():
    cases = []
    for p in [[0.04], [0.01, 0.02], [0.03, 0.5, 0.01, 0.02], [0.2, 0.2, 0.2], [0.0, 1.0, 0.5],
              RNG.uniform(0, 1, 12).round(4).tolist(), (RNG.uniform(0, 1, 25) ** 4).round(6).tolist()]:
        cases.append({"p": p, "bh": multipletests(p, method="fdr_bh")[1].tolist()})
    return cases


def lines():
    cases = []
    x = np.arange(20.0)
    wild = 3 + 0.5 * x + np.array(normal(20, 0, 0.3))
    wild[[4, 11]] = [60, -40]
    for xs, ys in [
        ([0.0, 1.0, 2.0], [0.0, 1.0, 4.0]),
        (list(range(8)), normal(8)),
        (x.tolist(), wild.round(3).tolist()),
        (whole(15, 5), whole(15, 6)),
        (normal(25), whole(25, 4)),
        (normal(30), [5.0] * 30),
        (normal(40, 0, 100), normal(40, -5, 0.1)),
    ]:
        for level in (0.95, 0.8):
            found = stats.theilslopes(ys, xs, alpha=level)
            cases.append({"x": [float(v) for v in xs], "y": ys, "level": level,
                          "slope": float(found.slope), "intercept": float(found.intercept),
                          "lower": float(found.low_slope), "upper": float(found.high_slope)})
    return cases


def power_laws():
    cases = []
    for k, factor in ((1.0, 3.0), (2.37, 1e-6), (-0.5, 40.0)):
        x = 2.0 ** np.arange(3, 13)
        y = factor * x**k * RNG.lognormal(0, 0.1, len(x))
        found = stats.theilslopes(np.log(y), np.log(x), alpha=0.95)
        cases.append({"x": x.tolist(), "y": y.tolist(), "exponent": float(found.slope),
                      "factor": math.exp(found.intercept),
                      "lower": float(found.low_slope), "upper": float(found.high_slope)})
    return cases


def sample_sizes():
    """By the noncentral t distribution: the approximation is within one run."""
    cases = []
    for cv in (0.005, 0.02, 0.08):
        for ratio in (1.02, 1.05, 0.9):
            for power in (0.8, 0.95):
                d = abs(math.log(ratio)) / math.sqrt(math.log1p(cv * cv))
                if d > 3:  # two or three runs: the solver starts beyond them
                    continue
                n = TTestIndPower().solve_power(d, alpha=0.05, power=power)
                cases.append({"cv": cv, "ratio": ratio, "alpha": 0.05, "power": power, "n": n})
    return cases


def main():
    # Three equal runs on one side of a t-test are meant.
    warnings.simplefilter("ignore", RuntimeWarning)
    vectors = {
        "made_by": "bench/peers/stats_vectors.py",
        "versions": {"python": platform.python_version(), "numpy": np.__version__,
                     "scipy": scipy.__version__, "statsmodels": statsmodels.__version__},
    }
    for make in (quantiles, summaries, log_ratios, bootstraps, median_ratios, corrections, lines,
                 power_laws, sample_sizes):
        vectors[make.__name__] = make()
    # One case a line: small, and a difference shows which case it is in.
    parts = []
    for name, value in vectors.items():
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(case, allow_nan=False) for case in value)
            parts.append(f'"{name}": [\n{rows}\n]')
        else:
            parts.append(f'"{name}": {json.dumps(value)}')
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
