"""breakeven's GPU forms beside PyTorch and CuPy on the same GPU: see ../gpu/run,
and turns.py.

Inputs and outputs are on the device on both sides. A lot is calls and one wait for
all of them, by the host's clock: what starting a call costs is in it where the
device is done sooner. f32 throughout, without TF32. With --software our side runs
on a software GPU and the peers on the CPU: that tries the bench and measures
nothing.
"""

import argparse
import gc
import sys
import tempfile

from turns import Block, Failure, Ours, Peer, Turns, compare

# What the largest size comes up to, bytes of inputs and output.
LARGE = 1 << 30
SOFTWARE = 1 << 23


class Package:
    """Another package on its device."""

    def __init__(self, name, peer, array, wait, release):
        self.name, self.peer, self.array = name, peer, array
        self.wait, self.release = wait, release


def by_torch(device):
    from tensors import torch
    from torch_peers import result, torch_peer

    if torch is None or (device == "cuda" and not torch.cuda.is_available()):
        return None
    on_gpu = device == "cuda"
    nothing = lambda: None  # noqa: E731
    return Package(f"torch {torch.__version__}", lambda work: torch_peer(work, device), result,
                   torch.cuda.synchronize if on_gpu else nothing,
                   torch.cuda.empty_cache if on_gpu else nothing)


def by_cupy(device):
    from array_peers import Arrays

    if device == "cpu":
        import numpy
        from scipy import ndimage
        return Package("scipy, for CuPy", Arrays(numpy, ndimage).peer, lambda values: values,
                       lambda: None, lambda: None)
    import cupy
    from cupyx.scipy import ndimage
    # Compiles and runs something: a CuPy for another CUDA fails here.
    cupy.arange(2).sum().item()
    return Package(f"cupy {cupy.__version__}", Arrays(cupy, ndimage).peer, cupy.asnumpy,
                   cupy.cuda.Device().synchronize, cupy.get_default_memory_pool().free_all_blocks)


def packages(device):
    """Those that can be loaded and see the device."""
    found = []
    for load in (by_torch, by_cupy):
        try:
            found.append(load(device))
        except Exception as error:  # whatever a package's loading may raise
            print(f"{load.__name__[3:]}: {type(error).__name__}: {first_line(error)}",
                  file=sys.stderr)
    return [package for package in found if package]


def first_line(error):
    return (str(error).strip().splitlines() or [""])[0]


def room(found, device):
    """Bytes for the largest work: an eighth of the device, as in ours."""
    if device == "cpu":
        return SOFTWARE
    from tensors import torch
    if torch is not None and torch.cuda.is_available():
        return min(LARGE, torch.cuda.mem_get_info()[1] // 8)
    import cupy
    return min(LARGE, cupy.cuda.Device().mem_info[1] // 8)


def measure(work, ours, found, turns):
    """One work; false where something failed that the others were not kept from."""
    made, output = ours.make(work)
    blocks, well = {}, True
    for package in found:
        try:
            function = package.peer(work)
            if function is None:
                continue
            work.check(package.name, output, package.array(function()))
            blocks[package.name] = Block(Peer(function, package.wait), turns)
        except Exception as error:  # a peer's failure is not ours
            well = False
            print(f"FAILED {work.name}: {package.name}: {type(error).__name__}: "
                  f"{first_line(error)}", flush=True)
    if blocks:
        compare("gpu_vs_peer", work, ours, blocks, turns)
    elif well:
        print(f"{work.name}: no peer: {' and '.join(p.name for p in found)} have nothing like it")
    return well


def release(found):
    """Gives back what the last work held on the device."""
    gc.collect()
    for package in found:
        try:
            package.release()
        except Exception as error:  # after a failure on the device, nothing works there
            print(f"{package.name}: {first_line(error)}", file=sys.stderr)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/gpu/run")
    parser.add_argument("--ours", help=argparse.SUPPRESS)
    parser.add_argument("--probe", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="5 rounds in place of 15")
    parser.add_argument("--software", action="store_true")
    parser.add_argument("--only", action="append", metavar="KERNEL")
    return parser.parse_args()


def main():
    options = arguments()
    device = "cpu" if options.software else "cuda"
    found = packages(device)
    if options.probe:
        sys.exit(0 if found else 1)
    from works import large_works

    print(f"peers on {device}: {', '.join(package.name for package in found)}; f32, no TF32")
    turns = Turns(lot_s=5e-3, lots=11, block_s=0.1, pause_s=0.0,
                  rounds=5 if options.quick else 15)
    command = [options.ours, "--serve", "--gpu"] + ["--software"] * options.software
    well = True
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(command, folder)
        for make in large_works(options.only, room(found, device)):
            work = make()
            try:
                well &= measure(work, ours, found, turns)
            except Exception as error:
                well = False
                kind = "" if isinstance(error, Failure) else f"{type(error).__name__}: "
                print(f"FAILED {work.name}: {kind}{first_line(error)}", flush=True)
            del work
            release(found)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
