"""Each kernel's work as other packages do it on the CPU.

What a peer can prepare once, it has prepared: outputs are allocated, weights and
filters are in its own types.
"""

import cv2
import numpy as np
from scipy import ndimage
from skimage.filters import rank
from statsmodels.tsa.ar_model import AutoReg

from tensors import torch
from torch_peers import result, torch_peer


def vector_add(work):
    a, b = work.inputs
    out = np.empty_like(a)
    return {"numpy": lambda: np.add(a, b, out=out)}


def dot_product(work):
    a, b = work.inputs
    return {"numpy": lambda: np.dot(a, b)}


def matrix_multiply(work):
    a, b = work.inputs
    out = np.empty_like(a)
    return {"numpy": lambda: np.matmul(a, b, out=out)}


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
                         for one in series])

    def by_normal_equations():
        out = []
        for one in series:
            x = design(one)
            out.append(iterated(one, np.linalg.solve(x.T @ x, x.T @ one[lags:])))
        return np.array(out)

    return {
        "statsmodels": by_statsmodels,
        "numpy (lstsq)": by_lstsq,
        "numpy (normal equations)": by_normal_equations,
    }


def lstm_cell(work):
    x, h, c, *weights = work.inputs
    joined = np.ascontiguousarray(np.concatenate(weights[:2], axis=1).T)
    bias = weights[2] + weights[3]

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    def step():
        gates = np.concatenate([x, h], axis=1) @ joined + bias
        i, f, g, o = np.split(gates, 4, axis=1)
        new = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(new), new

    return {"numpy": step}


def dendritic_integration(work):
    x, w, g = work.inputs
    block, steepness = np.float32(work.sizes["mg"] / 3.57), np.float32(-0.062)
    v_rest = np.float32(work.sizes["v_rest"])

    def step():
        s = np.einsum("bndi,ndi->bnd", x, w)
        f = s / (1 + block * np.exp(steepness * (v_rest + s)))
        return np.einsum("bnd,nd->bn", f, g)

    return {"numpy": step}


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
    by_torch = torch_peer(work, "cpu")
    return found + ([("torch", by_torch, result)] if by_torch else [])
