import numpy as np
import numpy.typing as npt

import breakeven as be

Image = npt.NDArray[np.uint8]


def entropy(image: Image) -> float:
    counts = np.bincount(image.ravel(), minlength=256)
    fractions = counts[counts > 0] / image.size
    return float(-(fractions * np.log2(fractions)).sum())


random = np.random.default_rng(1)
shapes = random.integers(100, 900, size=(60, 2))
images: list[Image] = [random.integers(0, 200, shape, dtype=np.uint8) for shape in shapes]
result = be.run(images, entropy)
print(f"{min(result.outputs):.3f} to {max(result.outputs):.3f} bits per pixel")
print(f"{result.tasks} images in {result.execution_time * 1e3:.0f} ms, {result.workers} threads")
