"""breakeven's CPU forms beside other packages: see `run` beside it, and turns.py.

Between blocks there is a pause in which the threads of the side that just ran fall
asleep: OpenBLAS's and OpenMP's wait busily for a while.
"""

import argparse
import os
import sys
import tempfile

from environment import chosen, clear
from turns import Ours, Peer, Turns, compare, said


def arguments():
    parser = argparse.ArgumentParser(prog="bench/peers/run")
    parser.add_argument("--ours", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="6 rounds in place of 15")
    parser.add_argument("--only", action="append", metavar="KERNEL")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def measure(work, ours, turns):
    from cpu_peers import peers

    output = ours.make(work)
    found = {}
    for name, function, array in peers(work):
        work.check(name, output, array(function()))
        found[name] = Peer(function)

    def small(wanted):
        return next(Peer(function) for name, function, _ in peers(work.small()) if name == wanted)
    compare("cpu_vs_peer", work, ours, found, turns, small)


def main():
    options = arguments()
    # Before the packages are loaded: each has threads of its own.
    clear()
    for name in ("RAYON", "OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = str(options.threads)
    from cpu_peers import use_threads
    from tensors import torch, why_no_torch
    from works import works

    use_threads(options.threads)
    turns = Turns(lot_s=0.5e-3, lots=25, block_s=0.1, pause_s=0.25,
                  rounds=6 if options.quick else 15,
                  warm_s=0.1 if options.threads > 1 else 0.0)
    chosen(torch)
    print(f"threads {options.threads}, load {os.getloadavg()[0]:.2f}")
    if torch is None:
        print(f"without torch: {why_no_torch}")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours([options.ours, "--serve"], folder)
        assert ours.about()["workers"] == options.threads, "both sides have as many threads"
        for work in works(options.only):
            try:
                measure(work, ours, turns)
            except Exception as error:  # the other works can go on
                failed = True
                print(f"FAILED {work.name}: {said(error)}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
