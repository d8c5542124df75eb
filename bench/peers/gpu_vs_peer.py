"""breakeven's GPU forms beside PyTorch and CuPy on the same GPU: see ../gpu/run,
and turns.py.

The peers' card is the one that our process has. Inputs and outputs are on the device
on both sides. A lot is calls and one wait for all of them, by the host's clock: what
starting a call costs is in it where the device is done sooner. f32 throughout, without
TF32, but for tensor_core_matmul: there the peers' matrices are f16, ours f32 that are
rounded in the call. With --software our side runs on a software GPU and the peers on the CPU: that
tries the bench and measures nothing.
"""

import argparse
import gc
import os
import sys
import tempfile

from cards import cards, number
from environment import clear
from turns import Ours, Peer, Turns, Unsupported, compare, said

# In place of a card's number.
CPU = "cpu"


class Package:
    """Another package on its device."""

    def __init__(self, name, peer, array, wait, release):
        self.name, self.peer, self.array = name, peer, array
        self.wait, self.release = wait, release


def by_torch(card):
    from tensors import torch, why_no_torch

    if torch is None:
        raise ImportError(why_no_torch)
    if card == CPU:
        device, wait, release = CPU, nothing, nothing
    elif torch.cuda.is_available():
        device, wait, release = f"cuda:{card}", torch.cuda.synchronize, torch.cuda.empty_cache
        torch.cuda.set_device(card)
    else:
        raise RuntimeError(f"torch {torch.__version__} sees no GPU")
    from torch_peers import result, torch_peer
    return Package(f"torch {torch.__version__}", lambda work: torch_peer(work, device), result,
                   wait, release)


def by_cupy(card):
    from array_peers import Arrays

    if card == CPU:
        import numpy
        from scipy import ndimage
        return Package("scipy, for CuPy", Arrays(numpy, ndimage).peer, lambda values: values,
                       nothing, nothing)
    # Read when it is imported; products of f32 do not round to TF32.
    os.environ["CUPY_TF32"] = "0"
    import cupy
    from cupyx.scipy import ndimage
    device = cupy.cuda.Device(card)
    device.use()
    # Compiles and runs something: a CuPy for another CUDA fails here.
    cupy.arange(2).sum().item()
    return Package(f"cupy {cupy.__version__}", Arrays(cupy, ndimage).peer, cupy.asnumpy,
                   device.synchronize, cupy.get_default_memory_pool().free_all_blocks)


def nothing():
    """There is nothing to wait for or to give back."""


def packages(card):
    """Those that can be loaded and see the card; of the others is said why not."""
    found = []
    for load in (by_torch, by_cupy):
        try:
            found.append(load(card))
        except Exception as error:  # whatever a package's loading may raise
            print(f"no {load.__name__[3:]}: {said(error)}", file=sys.stderr)
    return found


def measure(work, ours, found, turns):
    """One work; false where something failed that the others were not kept from."""
    output = ours.make(work)
    peers, well = {}, True
    for package in found:
        try:
            function = package.peer(work)
            if function is None:
                continue
            work.check(package.name, output, package.array(function()))
            peers[package.name] = Peer(function, package.wait)
        except Exception as error:  # a peer's failure is not ours
            well = False
            print(f"FAILED {work.name}: {package.name}: {said(error)}", flush=True)

    def small(name):
        package = next(package for package in found if package.name == name)
        return Peer(package.peer(work.small()), package.wait)
    if peers:
        compare("gpu_vs_peer", work, ours, peers, turns, small)
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
            print(f"{package.name}: {said(error)}", file=sys.stderr)


def arguments():
    parser = argparse.ArgumentParser(prog="bench/gpu/run")
    parser.add_argument("--ours", help=argparse.SUPPRESS)
    parser.add_argument("--probe", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="6 rounds in place of 15")
    parser.add_argument("--software", action="store_true")
    parser.add_argument("--only", action="append", default=[], metavar="KERNEL")
    return parser.parse_args()


def compared(ours, options):
    """What is compared, on which card; an exception where nothing can be."""
    from works import ON_GPUS, large_works

    about = ours.about()
    card = CPU if options.software else number(about, cards())
    found = packages(card)
    if not found:
        raise ImportError("no package that could be compared")
    print(f"ours on {about['device']} ({about['name']}, PCI {about['pci'] or '?'}); "
          f"{' and '.join(package.name for package in found)} on "
          f"{card if card == CPU else cards()[card]}; f32, no TF32", flush=True)
    # Some kernels have no work here: they are another's, or nobody's.
    others = [name for name in options.only if name in about["kernels"] and name not in ON_GPUS]
    for name in others:
        print(f"{name}: not compared")
    only = [name for name in options.only if name not in others]
    works = large_works(only, about["room"]) if only or not options.only else []
    return found, works


def main():
    options = arguments()
    clear()
    if options.probe:
        sys.exit(0 if packages(CPU if options.software else 0) else 1)
    turns = Turns(lot_s=5e-3, lots=11, block_s=0.1, pause_s=0.0,
                  rounds=6 if options.quick else 15)
    command = [options.ours, "--serve", "--gpu"] + ["--software"] * options.software
    well = True
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(command, folder)
        try:
            found, works = compared(ours, options)
        except Exception as error:
            print(f"NOT MEASURED: {said(error)}")
            sys.exit(1)
        for make in works:
            work = make()
            try:
                well &= measure(work, ours, found, turns)
            except Unsupported as lacking:
                print(f"{work.name}: not compared: {said(lacking)}", flush=True)
            except Exception as error:
                well = False
                print(f"FAILED {work.name}: {said(error)}", flush=True)
            del work
            release(found)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
