import numpy as np
import numpy.typing as npt
import torch

import breakeven as be

has_gpu = torch.cuda.is_available()
centres = np.random.default_rng(1).random((256, 64), dtype=np.float32)
gpu_centres = torch.as_tensor(centres, device="cuda" if has_gpu else "cpu")


def cpu(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    return np.asarray((rows @ centres).argmax(axis=1))


def gpu(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    scores = torch.as_tensor(rows, device=gpu_centres.device) @ gpu_centres
    return np.asarray(scores.argmax(dim=1).cpu())


rows = np.random.default_rng(2).random((10_000, 256), dtype=np.float32)
result = be.run(rows, cpu, gpu if has_gpu else None, batched=True)
print(result.outputs[:5], result.outputs.dtype)
print(result.explain())
