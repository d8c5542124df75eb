"""What is compared: each kernel's default workload and 8 times its size, our
problem as bench/peers/run sends it, and the same work as other packages do it.

What a peer can prepare once, it has prepared: outputs are allocated, weights and
filters are in its own types. Each peer's result is compared with ours.
"""

import os
import sys

import cv2
import numpy as np
from scipy import ndimage
from skimage.filters import rank
from statsmodels.tsa.ar_model import AutoReg



def load_torch():
    """Debian's build, after this interpreter's own packages, which are newer. It
    does without NumPy 2, and says so at length when the first tensor is made."""
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

RNG = np.random.default_rng(20261121)


class Work:
    def __init__(self, kernel, scale, sizes, inputs, peers, tolerance, dtype="float32", name=None):
        self.kernel, self.sizes, self.inputs = kernel, sizes, inputs
        self.name = (name or kernel) + ("" if scale == 1 else f"_{scale}x")
        self.peers = {name: peer for name, peer in peers.items() if peer is not None}
        self.tolerance, self.dtype = tolerance, dtype

    def read(self, path):
        return np.fromfile(path, dtype=self.dtype)

    def check(self, peer, ours, theirs):
        theirs = np.asarray(theirs.tolist() if torch and torch.is_tensor(theirs) else theirs)
        off = np.abs(ours - theirs.ravel().astype("float64")) / np.maximum(1, np.abs(theirs.ravel()))
        assert off.max() <= self.tolerance, f"{self.name}: {peer} is another function: {off.max()}"


def uniform(*shape):
    return RNG.uniform(-1, 1, shape).astype("float32")


def tensor(values):
    """PyTorch's tensor of an array, without the NumPy interface that Debian's lacks."""
    return torch.frombuffer(bytearray(values.tobytes()), dtype=torch.float32).reshape(values.shape)


def with_torch(make):
    """A peer that needs PyTorch, or none."""
    if torch is None:
        return None
    function = make()

    def without_gradients():
        with torch.inference_mode():
            return function()

    return without_gradients


def images(batch, height, width):
    """Waves with noise on them in 256 grey values, as the suite's."""
    y, x = np.mgrid[0:height, 0:width]
    turns = np.arange(batch)[:, None, None]
    noise = RNG.uniform(-0.2, 0.2, (batch, height, width)) * x / width
    values = 0.5 + 0.2 * np.sin(x / 23 + turns) + 0.2 * np.cos(y / 37 + turns) + noise
    return (np.floor(np.clip(values, 0, 0.999) * 256) / 256).astype("float32")


def vector_add(scale):
    a, b = uniform(100_000 * scale), uniform(100_000 * scale)
    out = np.empty_like(a)

    def by_torch():
        ta, tb, to = tensor(a), tensor(b), tensor(out)
        return lambda: torch.add(ta, tb, out=to)

    return Work("vector_add", scale, {"batch": 1}, [a, b], {
        "numpy": lambda: np.add(a, b, out=out),
        "torch": with_torch(by_torch),
    }, 0)


def dot_product(scale):
    a, b = uniform(100_000 * scale), uniform(100_000 * scale)

    def by_torch():
        ta, tb = tensor(a), tensor(b)
        return lambda: torch.dot(ta, tb).reshape(1)

    return Work("dot_product", scale, {"batch": 1}, [a, b], {
        "numpy": lambda: np.dot(a, b),
        "torch": with_torch(by_torch),
    }, 1e-3)


def matrix_multiply(scale):
    a, b = uniform(scale, 256, 256), uniform(scale, 256, 256)
    out = np.empty_like(a)

    def by_torch():
        ta, tb, to = tensor(a), tensor(b), tensor(out)
        return lambda: torch.bmm(ta, tb, out=to)

    return Work("matrix_multiply", scale, {"dims": [scale, 256, 256, 256]}, [a, b], {
        "numpy": lambda: np.matmul(a, b, out=out),
        "torch": with_torch(by_torch),
    }, 1e-3)


def conv2d(scale):
    batch = images(scale, 256, 256)
    taps = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype="float32")
    out = np.empty_like(batch)

    def by_opencv():
        for image, to in zip(batch, out):
            cv2.filter2D(image, cv2.CV_32F, taps, dst=to, borderType=cv2.BORDER_CONSTANT)
        return out

    def by_scipy():
        for image, to in zip(batch, out):
            ndimage.correlate(image, taps, output=to, mode="constant")
        return out

    def by_torch():
        t, w = tensor(batch[:, None]), tensor(taps[None, None])
        return lambda: torch.nn.functional.conv2d(t, w, padding=1)

    sizes = {"dims": [scale, 256, 256], "filter_dims": [3, 3], "padding": 1}
    return Work("conv2d", scale, sizes, [batch, taps], {
        "opencv": by_opencv, "scipy": by_scipy, "torch": with_torch(by_torch),
    }, 1e-4)


def pixel_entropy(scale):
    batch = images(scale, 512, 512)
    grey = (batch * 256).astype("uint8")
    footprint = np.ones((16, 16), dtype="uint8")
    out = np.empty(batch.shape)

    def by_skimage():
        for image, to in zip(grey, out):
            rank.entropy(image, footprint, out=to[:, :, None])
        return out

    return Work("pixel_entropy", scale, {"dims": [scale, 512, 512], "window": 16}, [batch], {
        "scikit-image": by_skimage,
    }, 1e-3)


def image_segmentation(scale):
    batch = images(scale, 256, 256)
    threshold = 100 / 256
    out = np.empty(batch.shape, dtype="int32")

    def by_scipy():
        for image, to in zip(batch, out):
            ndimage.label(image > threshold, output=to)
        return out

    def by_opencv(algorithm):
        def label():
            for image, to in zip(batch, out):
                mask = cv2.threshold(image, threshold, 1, cv2.THRESH_BINARY)[1].astype("uint8")
                cv2.connectedComponentsWithAlgorithm(mask, 4, cv2.CV_32S, algorithm, to)
            return out
        return label

    class Labels(Work):
        """OpenCV numbers the same components by its own order; ours is SciPy's."""

        def check(self, peer, ours, theirs):
            for image in theirs:
                labels, first = np.unique(image, return_index=True)
                order = np.zeros(len(labels), dtype="int32")
                components = np.argsort(first[labels > 0])
                order[np.flatnonzero(labels > 0)[components]] = np.arange(1, len(components) + 1)
                image[...] = order[np.searchsorted(labels, image)]
            super().check(peer, ours, theirs)

    return Labels("image_segmentation", scale, {"dims": [scale, 256, 256], "threshold": threshold},
                  [batch], {
                      "scipy": by_scipy,
                      "opencv (Spaghetti)": by_opencv(cv2.CCL_SPAGHETTI),
                      "opencv (SAUF)": by_opencv(cv2.CCL_SAUF),
                  }, 0, dtype="uint32")


def ar_forecast(scale):
    points, lags, steps = 1000, 5, 10
    series = RNG.standard_normal((scale, points))
    for t in range(2, points):
        series[:, t] += 0.6 * series[:, t - 1] + 0.2 * series[:, t - 2]
    series = series.astype("float32")
    wide = series.astype("float64")

    def by_statsmodels():
        return np.array([AutoReg(one, lags=lags, trend="c").fit()
                         .predict(start=points, end=points + steps - 1) for one in wide])

    def iterated(one, solution):
        known = list(one[-lags:])
        for _ in range(steps):
            known.append(solution[0] + np.dot(solution[1:], known[:-lags - 1:-1]))
        return known[lags:]

    def design(one):
        lagged = np.lib.stride_tricks.sliding_window_view(one[:-1], lags)[:, ::-1]
        return np.column_stack([np.ones(len(lagged)), lagged])

    def by_lstsq():
        return np.array([iterated(one, np.linalg.lstsq(design(one), one[lags:])[0])
                         for one in wide])

    def by_normal_equations():
        out = []
        for one in wide:
            x = design(one)
            out.append(iterated(one, np.linalg.solve(x.T @ x, x.T @ one[lags:])))
        return np.array(out)

    return Work("ar_forecast", scale, {"dims": [scale, points], "lags": lags, "steps": steps},
                [series], {
        "statsmodels": by_statsmodels,
        "numpy (lstsq)": by_lstsq,
        "numpy (normal equations)": by_normal_equations,
    }, 1e-3)


def lstm_cell(scale):
    batch, inputs, hidden = 32 * scale, 64, 128
    x, h, c = uniform(batch, inputs), uniform(batch, hidden), uniform(batch, hidden)
    limit = np.float32(hidden**-0.5)
    weights = [uniform(4 * hidden, inputs) * limit, uniform(4 * hidden, hidden) * limit,
               uniform(4 * hidden) * limit, uniform(4 * hidden) * limit]

    def by_torch():
        cell = torch.nn.LSTMCell(inputs, hidden)
        names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        cell.load_state_dict({name: tensor(w) for name, w in zip(names, weights)})
        tx, th, tc = tensor(x), tensor(h), tensor(c)
        return lambda: cell(tx, (th, tc))

    def by_numpy():
        joined = np.ascontiguousarray(np.concatenate(weights[:2], axis=1).T)
        bias = weights[2] + weights[3]
        sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731

        def step():
            gates = np.concatenate([x, h], axis=1) @ joined + bias
            i, f, g, o = np.split(gates, 4, axis=1)
            new = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            return sigmoid(o) * np.tanh(new), new
        return step

    class Pair(Work):
        """The peers give h' and c' apart, we give each item's one after the other."""

        def check(self, peer, ours, theirs):
            theirs = [np.array(t.tolist()) for t in theirs]
            super().check(peer, ours, np.concatenate(theirs, axis=1))

    return Pair("lstm_cell_forward", scale, {"dims": [batch, inputs, hidden]},
                [x, h, c, *weights], {
        "torch": with_torch(by_torch), "numpy": by_numpy(),
    }, 1e-4)


def dendritic_integration(scale):
    shape = (scale, 10, 8, 16)
    x, w, g = 20 * np.abs(uniform(*shape)), np.abs(uniform(*shape[1:])), np.abs(uniform(*shape[1:3]))
    mg, v_rest = np.float32(1), np.float32(-70)
    block, steepness = np.float32(mg / 3.57), np.float32(-0.062)

    def by_numpy():
        s = np.einsum("bndi,ndi->bnd", x, w)
        f = s / (1 + block * np.exp(steepness * (v_rest + s)))
        return np.einsum("bnd,nd->bn", f, g)

    def by_torch():
        tx, tw, tg = tensor(x), tensor(w), tensor(g)
        mg_block, mg_steepness, rest = float(block), float(steepness), float(v_rest)

        def step():
            s = (tx * tw).sum(-1)
            f = s / (1 + mg_block * torch.exp(mg_steepness * (rest + s)))
            return (f * tg).sum(-1)
        return step

    sizes = {"dims": list(shape), "mg": float(mg), "v_rest": float(v_rest)}
    return Work("dendritic_integration", scale, sizes, [x, w, g], {
        "numpy": by_numpy, "torch": with_torch(by_torch),
    }, 1e-4)


ALL = {"ar_forecast": ar_forecast, "lstm_cell_forward": lstm_cell, "pixel_entropy": pixel_entropy,
       "conv2d": conv2d, "image_segmentation": image_segmentation,
       "dendritic_integration": dendritic_integration, "vector_add": vector_add,
       "matrix_multiply": matrix_multiply, "dot_product": dot_product}


def works(threads, only):
    cv2.setNumThreads(threads)
    if torch is not None:
        torch.set_num_threads(threads)
    unknown = set(only or []) - set(ALL)
    if unknown:
        sys.exit(f"peers: no kernel {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    for name, make in ALL.items():
        for scale in (1, 8):
            if not only or name in only:
                yield make(scale)
