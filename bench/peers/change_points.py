#!/usr/bin/env python3
"""Searches breakeven's made-up series, and the published ones, with other detectors.

    python3 -m venv target/changes
    target/changes/bin/pip install apache-otava==0.8.0 ruptures==1.1.10
    target/changes/bin/pip install --no-deps signal-processing-algorithms==2.1.6
    target/changes/bin/pip install 'structlog<25' 'more-itertools<9'
    cargo bench -p breakeven-stats --bench change_points -- --export target/series.csv
    target/changes/bin/python bench/peers/change_points.py target/series.csv

signal-processing-algorithms asks for versions that others exclude (NumPy below 2) and for
gevent, which the search does not use; so it comes without its dependencies.

Every detector has its defaults. PELT has none for its penalty: it gets that of Schwarz's
criterion, 2·σ²·ln n, with σ by the median difference of neighbours, once with the least
segment of breakeven.
"""

import argparse
import collections
import csv
import json
import logging
import multiprocessing
import os
import pathlib
import random
import time

import numpy as np
import ruptures
import structlog
from otava.analysis import compute_change_points
from signal_processing_algorithms.energy_statistics.energy_statistics import e_divisive

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))

PUBLISHED = (
    pathlib.Path(__file__).resolve().parents[2]
    / "crates/breakeven-stats/tests/data/change_points"
)
# Values of a series up to which the detectors of n² steps are asked.
SLOW_ABOVE = 2_000


def otava(values):
    found, _ = compute_change_points(list(values))
    return [point.index for point in found]


def mongodb(values):
    return [int(place) for place in e_divisive(np.asarray(values, dtype=float))]


def pelt(values):
    values = np.asarray(values, dtype=float)
    deviation = 1.4826 * np.median(np.abs(np.diff(values))) / np.sqrt(2)
    penalty = 2 * deviation**2 * np.log(len(values))
    search = ruptures.Pelt(model="l2", min_size=3, jump=1).fit(values)
    return search.predict(pen=penalty)[:-1]


OTHERS = {
    "Otava 0.8.0": otava,
    "signal-processing-algorithms 2.1.6": mongodb,
    "ruptures 1.1.10, PELT": pelt,
}


def read(path):
    with open(path, newline="") as file:
        for kind, step, found, *values in csv.reader(file):
            yield (
                kind,
                int(step) if step else None,
                [int(place) for place in found.split()],
                [float(value) for value in values],
            )


def shape(step, length):
    return "none" if step is None else f"{step}_{length - step}"


class Score:
    """Steps found within one point, and points that are none."""

    def __init__(self):
        self.series = self.points = self.hits = self.beside = 0

    def add(self, step, found, length):
        near = [place for place in found if step is not None and abs(place - step) <= 1]
        self.series += 1
        self.points += length
        self.hits += bool(near)
        self.beside += len(found) - len(near)

    def text(self, with_step):
        beside = 1000 * self.beside / self.points
        hits = f"{100 * self.hits / self.series:5.1f} %" if with_step else " " * 7
        return f"{hits} {beside:7.2f}"


def search(series):
    """What each detector finds in a line of the file."""
    kind, step, ours, values = series
    places = {"breakeven": ours}
    places |= {name: detect(values) for name, detect in OTHERS.items()}
    return kind, step, len(values), places


def simulated(path, processes):
    scores = collections.defaultdict(Score)
    columns = {}
    with multiprocessing.Pool(processes) as pool:
        for kind, step, length, places in pool.imap(search, read(path), chunksize=8):
            column = shape(step, length)
            columns[column] = step is not None
            for name, found in places.items():
                scores[kind, name, column].add(step, found, length)
    kinds = dict.fromkeys(kind for kind, _, _ in scores)
    names = dict.fromkeys(name for _, name, _ in scores)
    print("Found within ±1, and points that are no step per 1000")
    print(" " * 58 + "".join(f"{column:>17}" for column in columns))
    for kind in kinds:
        for name in names:
            row = [scores[kind, name, column].text(columns[column]) for column in columns]
            print(f"{kind:21} {name:36}" + "".join(f"{text:>17}" for text in row))


def published():
    print("\nPublished series: places found")
    for path in sorted(PUBLISHED.glob("*.json")):
        values = json.loads(path.read_text())["values"]
        for name, detect in OTHERS.items():
            print(f"{path.stem:20} {name:36} {' '.join(map(str, detect(values)))}", flush=True)


def times():
    print("\nSeconds for a series without steps")
    generator = np.random.default_rng(1)
    for length in (1_000, 10_000):
        values = generator.normal(size=length)
        for name, detect in OTHERS.items():
            if detect is not otava and length > SLOW_ABOVE:
                continue
            start = time.perf_counter()
            detect(values)
            print(f"{length:6} {name:36} {time.perf_counter() - start:9.3f}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("series", help="what the bench wrote with --export")
    arguments.add_argument("--processes", type=int, default=os.cpu_count())
    asked = arguments.parse_args()
    random.seed(1)
    np.random.seed(1)
    simulated(asked.series, asked.processes)
    published()
    times()


if __name__ == "__main__":
    main()
