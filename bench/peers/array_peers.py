"""Each kernel's work in CuPy, whose interface is that of NumPy and SciPy: with
these in its place, what is written here can be tried without a GPU.

What can be prepared once is prepared: inputs and outputs are on the device.
CuPy's products of f32 do not round to TF32 unless CUPY_TF32 is set.
"""

import numpy as np


class Arrays:
    """`xp` is CuPy or NumPy, `ndimage` the one that goes with it."""

    def __init__(self, xp, ndimage):
        self.xp, self.ndimage = xp, ndimage

    def vector_add(self, work):
        a, b = (self.xp.asarray(values) for values in work.inputs)
        out = self.xp.empty_like(a)
        return lambda: self.xp.add(a, b, out=out)

    def dot_product(self, work):
        a, b = (self.xp.asarray(values) for values in work.inputs)
        return lambda: self.xp.dot(a, b)

    def matrix_multiply(self, work):
        a, b = (self.xp.asarray(values) for values in work.inputs)
        out = self.xp.empty_like(a)
        return lambda: self.xp.matmul(a, b, out=out)

    def conv2d(self, work):
        batch, taps = (self.xp.asarray(values) for values in work.inputs)
        out = self.xp.empty_like(batch)

        def correlate():
            self.ndimage.correlate(batch, taps[None], output=out, mode="constant")
            return out
        return correlate

    def image_segmentation(self, work):
        batch, threshold = self.xp.asarray(work.inputs[0]), work.sizes["threshold"]
        # Sides within an image; images of the batch do not touch.
        sides = np.zeros((3, 3, 3), dtype=bool)
        sides[1, 1, :] = sides[1, :, 1] = True
        return lambda: self.ndimage.label(batch > threshold, sides, self.xp.int32)[0]

    def peer(self, work):
        """The kernel's work, or None where there is nothing like it."""
        make = getattr(self, work.kernel, None)
        return make and make(work)
