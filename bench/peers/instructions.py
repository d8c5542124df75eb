"""Instructions of one call of our CPU forms, counted by valgrind's callgrind on one
thread: see `run` beside it.

A process that makes the problem and calls once is counted, and one that calls
three times; half of the difference is a call's. Valgrind has AVX2 and no AVX-512.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from works import works

CALLS = (1, 3)


def counted(command, text=""):
    """Instructions of a whole process."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    process = subprocess.run(valgrind + command, input=text, text=True, capture_output=True)
    found = re.search(r"Collected : (\d+)", process.stderr)
    if process.returncode != 0 or not found:
        sys.exit(f"instructions: {command[0]} failed under valgrind:\n{process.stderr[-2000:]}")
    return int(found.group(1))


def of_a_call(count):
    few, more = (count(calls) for calls in CALLS)
    return (more - few) / (CALLS[1] - CALLS[0])


def ours(program, work):
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{index}.f32") for index in range(len(work.inputs))]
        for path, values in zip(paths, work.inputs):
            values.astype("float32", copy=False).tofile(path)
        make = {"kernel": work.kernel, **work.sizes, "inputs": paths,
                "output": str(Path(folder) / "output.f32")}

        def count(calls):
            commands = [{"make": make}, {"time": {"lots": 1, "calls": calls}}]
            return counted([program, "--serve"], "\n".join(map(json.dumps, commands)) + "\n")

        return of_a_call(count)


def main():
    parser = argparse.ArgumentParser(prog="bench/peers/run --instructions")
    parser.add_argument("--ours", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--only", action="append", metavar="KERNEL")
    options = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = "1"
    for work in works(options.only):
        print(f"METRIC instructions/{work.name} {ours(options.ours, work):.0f}", flush=True)


if __name__ == "__main__":
    main()
