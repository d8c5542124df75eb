"""PyTorch, where there is one, and arrays to tensors and back without PyTorch's
NumPy interface, which Debian's build lacks for NumPy 2."""

import ctypes
import os
import sys

import numpy as np


def load_torch():
    """This interpreter's PyTorch, else Debian's, after this interpreter's own
    packages, which are newer; it speaks of NumPy 2 at length when the first tensor
    is made. None where neither works, and why."""
    sys.path.append("/usr/lib/python3/dist-packages")
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        import torch
        torch.zeros(1)
        return torch, ""
    except Exception as error:  # whatever a broken installation may raise
        return None, f"{type(error).__name__}: {error}"
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(nowhere)


torch, why_no_torch = load_torch()
if torch is not None:
    # Nobody asks for gradients. For good: to enter it in each call takes time.
    inference = torch.inference_mode()
    inference.__enter__()


def tensor(values, device="cpu"):
    """A copy of an f32 array on the device."""
    shared = torch.frombuffer(bytearray(values.tobytes()), dtype=torch.float32)
    return shared.reshape(values.shape).to(device)


def array(values):
    """An f32 tensor's values on the host."""
    values = values.detach().cpu().contiguous()
    assert values.dtype == torch.float32
    there = (ctypes.c_float * values.numel()).from_address(values.data_ptr())
    return np.frombuffer(there, dtype="float32").reshape(values.shape).copy()
