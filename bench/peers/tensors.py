"""PyTorch, where there is one, and arrays to tensors and back without PyTorch's
NumPy interface, which Debian's build lacks for NumPy 2."""

import ctypes
import os
import sys

import numpy as np


def load_torch():
    """This interpreter's PyTorch, else Debian's, after this interpreter's own
    packages, which are newer; it speaks of NumPy 2 at length when the first tensor
    is made. None where there is neither."""
    sys.path.append("/usr/lib/python3/dist-packages")
    stderr, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        import torch
        torch.zeros(1)
        return torch
    except ImportError:
        return None
    finally:
        os.dup2(stderr, 2)


torch = load_torch()


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


def without_gradients(function):
    def call():
        with torch.inference_mode():
            return function()
    return call
