"""How fast PyTorch copies to the GPU and back, from page-locked memory and other, for the bench
`transfers`: see ../gpu/run. A download ends with a new tensor, as in that bench."""

import statistics
import sys
import time

from tensors import torch, why_no_torch

SIZES_KIB = [4 << 10, 16 << 10, 64 << 10]


def rate(copy, size, rounds=15):
    times = []
    for _ in range(rounds + 1):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        copy()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    # The first finds nothing that was used before.
    return size / statistics.median(times[1:]) / 1e9


def main():
    if torch is None or not torch.cuda.is_available():
        print(f"NOT MEASURED: {why_no_torch or 'PyTorch sees no GPU'}")
        sys.exit(1)
    for kib in SIZES_KIB:
        values = torch.ones(kib << 8)
        pinned, there = values.pin_memory(), values.cuda()
        cases = {
            "upload": lambda values=values: values.cuda(),
            "upload_pinned": lambda pinned=pinned: pinned.cuda(),
            "download": lambda there=there: there.cpu(),
            "download_pinned": lambda pinned=pinned, there=there: pinned.copy_(there),
        }
        for name, copy in cases.items():
            print(f"METRIC torch_transfers/{name}_kib_{kib} {rate(copy, kib << 10):.3g} GB/s")


if __name__ == "__main__":
    main()
