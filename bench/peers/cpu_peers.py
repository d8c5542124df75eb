"""Each kernel's work as other packages do it on the CPU.

What a peer can prepare once, it has prepared: outputs and what is between are
allocated, weights and filters are in its own types.
"""

from functools import partial

import cv2
import numpy as np
from scipy import ndimage
from skimage.filters import rank
from statsmodels.tsa.ar_model import AutoReg

from tensors import torch
from torch_peers import result, torch_peer


def vector_add(work):
    a, b = work.inputs
    return {"numpy": partial(np.add, a, b, np.empty_like(a))}


def dot_product(work):
    a, b = work.inputs
    return {"numpy": partial(np.dot, a, b)}


def matrix_multiply(work):
    a, b = work.inputs
    return {"numpy": partial(np.matmul, a, b, np.empty_like(a))}


def conv2d(work):
    batch, taps = work.inputs
    out = np.empty_like(batch)

    def by_opencv():
        for image, to in zip(batch, out):
            cv2.filter2D(image, cv2.CV_32F, taps, dst=to, borderType=cv2.BORDER_CONSTANT)
        return out

    def by_scipy():
        for image, to in zip(batch, out):
            ndimage.correlate(image, taps, output=to, mode="constant")
        return out

    return {"opencv": by_opencv, "scipy": by_scipy}


def pixel_entropy(work):
    batch, window = work.inputs[0], work.sizes["window"]
    grey = (batch * 256).astype("uint8")
    footprint = np.ones((window, window), dtype="uint8")
    out = np.empty(batch.shape)

    def by_skimage():
        for image, to in zip(grey, out):
            rank.entropy(image, footprint, out=to[:, :, None])
        return out

    return {"scikit-image": by_skimage}


def image_segmentation(work):
    batch, threshold = work.inputs[0], work.sizes["threshold"]
    out = np.empty(batch.shape, dtype="int32")
    inside = np.empty(batch.shape, dtype=bool)
    masks = inside.view("uint8")

    def by_scipy():
        np.greater(batch, threshold, inside)
        for mask, to in zip(inside, out):
            ndimage.label(mask, output=to)
        return out

    def by_opencv(algorithm):
        def label():
            np.greater(batch, threshold, inside)
            for mask, to in zip(masks, out):
                cv2.connectedComponentsWithAlgorithm(mask, 4, cv2.CV_32S, algorithm, to)
            return out
        return label

    return {
        "scipy": by_scipy,
        "opencv (Spaghetti)": by_opencv(cv2.CCL_SPAGHETTI),
        "opencv (SAUF)": by_opencv(cv2.CCL_SAUF),
    }


def ar_forecast(work):
    lags, steps = work.sizes["lags"], work.sizes["steps"]
    series = work.inputs[0].astype("float64")
    points = series.shape[1]

    def by_statsmodels():
        return np.array([AutoReg(one, lags=lags, trend="c").fit()
                         .predict(start=points, end=points + steps - 1) for one in series])

    # Of each series a row of ones, for the intercept, one for each lag, and what
    # follows those.
    rows = np.ones((len(series), lags + 2, points - lags))
    source = np.lib.stride_tricks.sliding_window_view(series, points - lags, 1)
    x, y = rows[:, :-1].transpose(0, 2, 1), rows[:, -1]
    of_rows, with_rows = rows[:, :, None], rows[:, None]
    gram = np.empty((len(series), lags + 2, lags + 2))
    xx, xy = gram[:, :-1, :-1], gram[:, :-1, -1:]
    # The last values and, behind them, what follows from them.
    known = np.empty((len(series), lags + steps))
    last, forecast = series[:, -lags:], known[:, lags:]
    moves = [(known[:, t:t + lags], known[:, lags + t]) for t in range(steps)]

    def iterated(solution):
        known[:, :lags] = last
        intercept, weights = solution[:, 0], solution[:, 1:]
        for values, following in moves:
            np.vecdot(values, weights, following)
            np.add(following, intercept, following)
        return forecast

    def by_lstsq():
        rows[:, 1:] = source
        return iterated(np.array([np.linalg.lstsq(*one)[0] for one in zip(x, y)]))

    def by_normal_equations():
        rows[:, 1:] = source
        np.vecdot(of_rows, with_rows, gram)
        return iterated(np.linalg.solve(xx, xy)[..., 0])

    return {
        "statsmodels": by_statsmodels,
        "numpy (lstsq)": by_lstsq,
        "numpy (normal equations)": by_normal_equations,
    }


def lstm_cell(work):
    """sigmoid(v) = (tanh(v / 2) + 1) / 2: with halved weights of its gates, one tanh
    is for all of them."""
    x, h, c, *weights = work.inputs
    hidden = h.shape[1]
    halved = np.full((4, hidden, 1), 0.5, dtype="float32")
    halved[2] = 1
    halved = halved.reshape(-1, 1)
    joined = np.ascontiguousarray((halved * np.concatenate(weights[:2], axis=1)).T)
    bias = halved[:, 0] * (weights[2] + weights[3])
    both, gates = np.empty((len(x), len(joined)), "float32"), np.empty((len(x), 4 * hidden), "float32")
    i, f, g, o = (gates[:, k * hidden:(k + 1) * hidden] for k in range(4))
    up_to_one = gates[:, :2 * hidden], o
    new_h, new_c = np.empty_like(c), np.empty_like(c)
    half = np.float32(0.5)

    def step():
        np.concatenate((x, h), 1, both)
        np.matmul(both, joined, gates)
        np.add(gates, bias, gates)
        np.tanh(gates, gates)
        for gate in up_to_one:
            np.multiply(gate, half, gate)
            np.add(gate, half, gate)
        np.multiply(f, c, new_c)
        np.multiply(i, g, i)
        np.add(new_c, i, new_c)
        np.tanh(new_c, new_h)
        np.multiply(new_h, o, new_h)
        return new_h, new_c

    return {"numpy": step}


def dendritic_integration(work):
    x, w, g = work.inputs
    block, steepness = np.float32(work.sizes["mg"] / 3.57), np.float32(-0.062)
    # block · e^(steepness (v_rest + s)) as one power of e.
    shift = np.float32(np.log(block) + steepness * work.sizes["v_rest"])
    one = np.float32(1)
    s, f = np.empty(x.shape[:3], "float32"), np.empty(x.shape[:3], "float32")
    out = np.empty(x.shape[:2], "float32")

    def by(inner):
        def step():
            inner(s)
            np.multiply(s, steepness, f)
            np.add(f, shift, f)
            np.exp(f, f)
            np.add(f, one, f)
            np.divide(s, f, f)
            return np.vecdot(f, g, out)
        return step

    return {"numpy (vecdot)": by(partial(np.vecdot, x, w)),
            "numpy (einsum)": by(lambda s: np.einsum("bndi,ndi->bnd", x, w, out=s))}


MAKERS = {"ar_forecast": ar_forecast, "lstm_cell_forward": lstm_cell,
          "pixel_entropy": pixel_entropy, "conv2d": conv2d,
          "image_segmentation": image_segmentation,
          "dendritic_integration": dendritic_integration, "vector_add": vector_add,
          "matrix_multiply": matrix_multiply, "dot_product": dot_product}


def use_threads(count):
    cv2.setNumThreads(count)
    if torch is not None:
        torch.set_num_threads(count)


def peers(work):
    """Name, function, and what makes an array of its result, of each."""
    found = [(name, function, lambda values: values)
             for name, function in MAKERS[work.kernel](work).items()]
    by_torch = torch_peer(work, "cpu") if torch is not None else None
    return found + ([("torch", by_torch, result)] if by_torch else [])
