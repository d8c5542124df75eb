"""breakeven's CPU forms beside other packages: see `run` beside it, and turns.py.

Between blocks there is a pause in which the threads of the side that just ran fall
asleep: OpenBLAS's and OpenMP's wait busily for a while.
"""

import argparse
import os
import sys
import tempfile

from turns import Block, Failure, Ours, Peer, Turns, compare


def arguments():
    parser = argparse.ArgumentParser(prog="bench/peers/run")
    parser.add_argument("--ours", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="5 rounds in place of 15")
    parser.add_argument("--only", action="append", metavar="KERNEL")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    return parser.parse_args()


def measure(work, ours, threads, turns):
    from cpu_peers import peers

    made, output = ours.make(work)
    assert made["workers"] == threads, "both sides have as many threads"
    blocks = {}
    for name, function, array in peers(work):
        work.check(name, output, array(function()))
        blocks[name] = Block(Peer(function), turns)
    compare("cpu_vs_peer", work, ours, blocks, turns)


def main():
    options = arguments()
    # Before the packages are loaded: each has threads of its own.
    for name in ("RAYON", "OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        os.environ[f"{name}_NUM_THREADS"] = str(options.threads)
    from cpu_peers import use_threads
    from works import works

    use_threads(options.threads)
    turns = Turns(lot_s=0.5e-3, lots=25, block_s=0.1, pause_s=0.25,
                  rounds=5 if options.quick else 15)
    print(f"threads {options.threads}, load {os.getloadavg()[0]:.2f}")
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours([options.ours, "--serve"], folder)
        for work in works(options.only):
            try:
                measure(work, ours, options.threads, turns)
            except Failure as failure:
                failed = True
                print(f"FAILED {work.name}: {failure}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
