"""Each kernel's work in CuPy, whose interface is that of NumPy and SciPy: with
these in its place, what is written here can be tried without a GPU.

What can be prepared once is prepared: inputs and outputs are on the device.
"""

from functools import partial

import numpy as np


class Arrays:
    """`xp` is CuPy or NumPy, `ndimage` the one that goes with it."""

    def __init__(self, xp, ndimage):
        self.xp, self.ndimage = xp, ndimage

    def vector_add(self, work):
        a, b = (self.xp.asarray(values) for values in work.inputs)
        return partial(self.xp.add, a, b, out=self.xp.empty_like(a))

    def dot_product(self, work):
        a, b = (self.xp.asarray(values) for values in work.inputs)
        return partial(self.xp.dot, a, b, out=self.xp.empty((), a.dtype))

    def matrix_multiply(self, work):
        a, b = (self.xp.asarray(values) for values in work.inputs)
        if len(a) == 1:
            return partial(self.xp.dot, a[0], b[0], out=self.xp.empty_like(a[0]))
        return partial(self.xp.matmul, a, b, out=self.xp.empty_like(a))

    def tensor_core_matmul(self, work):
        a, b = (self.xp.asarray(values).astype("float16") for values in work.inputs)
        return partial(self.xp.matmul, a, b, out=self.xp.empty_like(a))

    def conv2d(self, work):
        batch, taps = (self.xp.asarray(values) for values in work.inputs)
        out = self.xp.empty_like(batch)
        correlate = partial(self.ndimage.correlate, batch, taps[None], out, "constant")

        def step():
            correlate()
            return out
        return step

    def image_segmentation(self, work):
        batch, threshold = self.xp.asarray(work.inputs[0]), work.sizes["threshold"]
        # Sides within an image; images of the batch do not touch.
        sides = np.zeros((3, 3, 3), dtype=bool)
        sides[1, 1, :] = sides[1, :, 1] = True
        inside, labels = self.xp.empty(batch.shape, bool), self.xp.empty(batch.shape, "int32")

        def step():
            self.xp.greater(batch, threshold, out=inside)
            self.ndimage.label(inside, sides, labels)
            return labels
        return step

    def peer(self, work):
        """The kernel's work, or None where there is nothing like it."""
        make = getattr(self, work.kernel, None)
        return make and make(work)
