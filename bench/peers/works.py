"""The work that is compared: each kernel's default workload and multiples of it,
as bench/peers/run and bench/gpu/run send it to our process, and how another
package's result is compared with ours. Who does it: cpu_peers.py,
torch_peers.py, array_peers.py.
"""

import sys
from functools import partial

import numpy as np

RNG = np.random.default_rng(20261121)


class Work:
    """A problem: `sizes` and `inputs` are our kernel's, `outputs` its elements."""

    def __init__(self, kernel, sizes, inputs, outputs, tolerance, dtype="float32"):
        self.kernel, self.sizes, self.inputs, self.outputs = kernel, sizes, inputs, outputs
        self.tolerance, self.dtype = tolerance, dtype
        self.name = kernel
        # Makes the same work of a few bytes.
        self.small = None

    @property
    def bytes(self):
        return sum(values.nbytes for values in self.inputs) + 4 * self.outputs

    def read(self, path):
        return np.fromfile(path, dtype=self.dtype)

    def check(self, peer, ours, theirs):
        """`theirs` is an array, or a list of arrays where the result is in parts."""
        theirs = np.asarray(theirs).ravel().astype("float64")
        off = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
        assert off.max() <= self.tolerance, f"{self.name}: {peer} is another function: {off.max()}"


def uniform(*shape):
    return RNG.uniform(-1, 1, shape).astype("float32")


def images(batch, height, width):
    """Waves with noise on them in 256 grey values, as the suite's."""
    y, x = np.ogrid[0:height, 0:width]
    turns = np.arange(batch)[:, None, None]
    noise = RNG.uniform(-0.2, 0.2, (batch, height, width)) * x / width
    values = 0.5 + 0.2 * np.sin(x / 23 + turns) + 0.2 * np.cos(y / 37 + turns) + noise
    return (np.floor(np.clip(values, 0, 0.999) * 256) / 256).astype("float32")


def vector_add(scale, length=100_000):
    length *= scale
    return Work("vector_add", {"batch": 1}, [uniform(length), uniform(length)], length, 0)


class Sum(Work):
    """Of positive products: a block of 4096 left out of a hundred million is four times
    what ours may be off. Compared is with a sum in f64, since a peer that adds in f32
    one after the other is off by a thousandth there."""

    # Of the sum.
    PEER = 0.01

    def check(self, peer, ours, theirs):
        a, b = (values.astype("float64") for values in self.inputs)
        exact = np.dot(a, b)
        super().check(peer, ours, exact)
        off = abs(float(theirs) / exact - 1)
        assert off <= self.PEER, f"{self.name}: {peer} is another function: {off}"


def dot_product(scale, length=100_000):
    length *= scale
    inputs = [np.abs(uniform(length)) for _ in range(2)]
    return Sum("dot_product", {"batch": 1}, inputs, 1, 1e-5)


def matrix_multiply(scale, order=256):
    shape = (scale, order, order)
    dims = [scale, order, order, order]
    return Work("matrix_multiply", {"dims": dims}, [uniform(*shape), uniform(*shape)],
                scale * order**2, 1e-3)


def tensor_core_matmul(scale, order=1024):
    """A peer's output in f16 is off by 5e-4 of itself."""
    work = matrix_multiply(scale, order)
    work.kernel = work.name = "tensor_core_matmul"
    work.tolerance = 1e-2
    return work


def conv2d(scale, side=256):
    taps = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype="float32")
    batch = images(scale, side, side)
    sizes = {"dims": [scale, side, side], "filter_dims": [3, 3], "padding": 1}
    return Work("conv2d", sizes, [batch, taps], batch.size, 1e-4)


def pixel_entropy(scale, side=512):
    batch = images(scale, side, side)
    return Work("pixel_entropy", {"dims": [scale, side, side], "window": 16}, [batch],
                batch.size, 1e-3)


class Labels(Work):
    """Other packages number the same components by an order of their own, some of
    them over the whole batch; ours is SciPy's, image by image."""

    def check(self, peer, ours, theirs):
        theirs = np.array(theirs)
        for image in theirs:
            labels, first = np.unique(image, return_index=True)
            order = np.zeros(len(labels), dtype=theirs.dtype)
            components = np.argsort(first[labels > 0])
            order[np.flatnonzero(labels > 0)[components]] = np.arange(1, len(components) + 1)
            image[...] = order[np.searchsorted(labels, image)]
        super().check(peer, ours, theirs)


def image_segmentation(scale, side=256):
    batch = images(scale, side, side)
    sizes = {"dims": [scale, side, side], "threshold": 100 / 256}
    return Labels("image_segmentation", sizes, [batch], batch.size, 0, dtype="uint32")


def ar_forecast(scale, points=1000):
    lags, steps = 5, 10
    series = RNG.standard_normal((scale, points), dtype="float32")
    for t in range(2, points):
        series[:, t] += 0.6 * series[:, t - 1] + 0.2 * series[:, t - 2]
    sizes = {"dims": [scale, points], "lags": lags, "steps": steps}
    return Work("ar_forecast", sizes, [series], scale * steps, 1e-3)


class Pair(Work):
    """The peers give h' and c' apart, we give each item's one after the other."""

    def check(self, peer, ours, theirs):
        super().check(peer, ours, np.concatenate(theirs, axis=1))


def lstm_cell(scale, dims=(32, 64, 128)):
    batch, inputs, hidden = dims
    batch *= scale
    limit = np.float32(hidden**-0.5)
    states = [uniform(batch, inputs), uniform(batch, hidden), uniform(batch, hidden)]
    weights = [uniform(4 * hidden, inputs) * limit, uniform(4 * hidden, hidden) * limit,
               uniform(4 * hidden) * limit, uniform(4 * hidden) * limit]
    return Pair("lstm_cell_forward", {"dims": [batch, inputs, hidden]}, states + weights,
                2 * batch * hidden, 1e-4)


def dendritic_integration(scale, dims=(10, 8, 16)):
    shape = (scale, *dims)
    inputs = [20 * np.abs(uniform(*shape)), np.abs(uniform(*shape[1:])),
              np.abs(uniform(*shape[1:3]))]
    sizes = {"dims": list(shape), "mg": 1.0, "v_rest": -70.0}
    return Work("dendritic_integration", sizes, inputs, scale * shape[1], 1e-4)


ALL = {"ar_forecast": ar_forecast, "lstm_cell_forward": lstm_cell, "pixel_entropy": pixel_entropy,
       "conv2d": conv2d, "image_segmentation": image_segmentation,
       "dendritic_integration": dendritic_integration, "vector_add": vector_add,
       "matrix_multiply": matrix_multiply, "dot_product": dot_product}

# Those that are compared on GPUs.
ON_GPUS = {**ALL, "tensor_core_matmul": tensor_core_matmul}

# Sizes at which next to nothing is left to do: as many calls, images and series.
SMALL = {"vector_add": {"length": 1}, "dot_product": {"length": 1},
         "matrix_multiply": {"order": 2}, "tensor_core_matmul": {"order": 16}, "conv2d": {"side": 4}, "pixel_entropy": {"side": 1},
         "image_segmentation": {"side": 4}, "ar_forecast": {"points": 16},
         "lstm_cell_forward": {"dims": (1, 1, 1)}, "dendritic_integration": {"dims": (1, 1, 1)}}

# Single matrices beside the default's order of 256.
ORDERS = (1024, 4096)


def named(work, suffix, make, scale):
    work.name = work.kernel + suffix
    work.small = partial(make, scale, **SMALL[work.kernel])
    return work


def scaled(make, scale):
    return named(make(scale), "" if scale == 1 else f"_{scale}x", make, scale)


def of_order(make, order):
    return named(make(1, order), f"_n{order}", make, 1)


def wanted(only, kernels=ALL):
    """The makers of the kernels that were asked for, which are all by default."""
    unknown = set(only or []) - set(kernels)
    if unknown:
        sys.exit(f"peers: no kernel {', '.join(sorted(unknown))}; there are {', '.join(kernels)}")
    return [make for name, make in kernels.items() if not only or name in only]


def works(only):
    """The default workload and 8 times its size, and a product of larger matrices."""
    for make in wanted(only):
        for scale in (1, 8):
            yield scaled(make, scale)
        if make is matrix_multiply:
            yield of_order(make, ORDERS[0])


def large_works(only, room):
    """The same, the largest power of two times as much that `room` bytes hold, which
    our process reports, and of products larger matrices; each as the function that
    makes it."""
    for make in wanted(only, ON_GPUS):
        once = make(1).bytes
        each = make(2).bytes - once
        # What does not grow, weights and filters, is there once.
        scales = max(1, (room - (once - each)) // each)
        for scale in sorted({1, 8, 2 ** (scales.bit_length() - 1)}):
            if scale <= scales:
                yield partial(scaled, make, scale)
        if make in (matrix_multiply, tensor_core_matmul):
            for order in ORDERS:
                if 3 * 4 * order**2 <= room and order**2 != once // 12:
                    yield partial(of_order, make, order)
