"""Peers run at their best: variables that hold a library back are cleared, unless
BENCH_KEEP names them (with spaces between them), and what each library chose is
printed."""

import os
import re
import sys

# Code paths and threads of BLAS and OpenMP libraries, NumPy, PyTorch, oneDNN, OpenCV.
HOLDING = re.compile(
    "(OPENBLAS|GOTO|MKL|OMP|GOMP|KMP|BLIS|VECLIB|NUMEXPR|NUMBA|NPY|ATEN|DNNL|ONEDNN|OPENCV|"
    "JULIA|RAYON)_|.*TF32")


def clear():
    """Before the libraries are loaded, and for the processes that are started from here."""
    kept = os.environ.get("BENCH_KEEP", "").split()
    held = sorted(name for name in os.environ if HOLDING.match(name) and name not in kept)
    for name in held:
        print(f"cleared {name}={os.environ.pop(name)}: BENCH_KEEP={name} keeps it",
              file=sys.stderr)


def chosen(torch=None):
    """What the loaded libraries chose: core types and threads, a line each."""
    import cv2
    from numpy._core import _multiarray_umath
    from threadpoolctl import threadpool_info

    for library in threadpool_info():
        core = library.get("architecture", library["user_api"])
        version, threads = library["version"], library["num_threads"]
        print(f"{library['internal_api']} {version or ''}: {core}, {threads} threads "
              f"({os.path.basename(library['filepath'])})")
    features = [name for name, has in _multiarray_umath.__cpu_features__.items() if has]
    print(f"numpy: {' '.join(features)}")
    print(f"opencv: {cv2.getCPUFeaturesLine()}, {cv2.getNumThreads()} threads")
    if torch is not None:
        capability = torch.backends.cpu.get_cpu_capability()
        print(f"torch: {capability}, {torch.get_num_threads()} threads")
