#!/usr/bin/env python3
"""Writes the expected outputs that the kernels are tested against.

    pip install numpy scipy scikit-image statsmodels
    apt-get install python3-torch
    python bench/peers/kernel_vectors.py

makes crates/breakeven/tests/data/kernels.json anew. Inputs come from a fixed
seed and are whole numbers over a power of two (`unit` is that power's inverse),
so that f32, JSON and every package mean the same values. References:

- vector_add: NumPy in f32, so one rounding per element;
- matrix_multiply: NumPy in float64;
- conv2d: scipy.signal.correlate2d on an image really padded with zeros, and
  scipy.ndimage.correlate where it can say the same;
- pixel_entropy: skimage.filters.rank.entropy on the uint8 image of the bins;
- ar_forecast: statsmodels' AutoReg(lags=p, trend="c"), its iterated predictions;
- lstm_cell: the formulas of PyTorch's LSTMCell in NumPy's float64, and PyTorch's
  own result (Debian's python3-torch) must be within 1e-6 of it;
- dendritic_integration: the four nonlinearities as they are written, in float64;
- image_segmentation: scipy.ndimage.label of `image > threshold`, compared with
  skimage.measure.label of the same;
- dot_product: NumPy in float64.

The window of rank.entropy: row and column w // 2 of a w x w footprint lie on the
pixel, so that an even one reaches w/2 back and w/2 - 1 ahead, and pixels outside
the image are left out of the histogram. Both are the kernel's own convention:
shift_x and shift_y stay 0. `mark_centre` measures it again at every run. The one
case with `shift` -1 is the opposite convention (w/2 - 1 back, w/2 ahead), kept
to show that the data separate the two. rank.entropy must be given uint8: a
float image it multiplies by 255 and rounds, which is not floor(256 v).
"""

import json
import pathlib
import platform
import sys
import warnings

import numpy as np
import scipy
import skimage
import statsmodels
from scipy import ndimage, signal
from skimage import measure
from skimage.filters import rank
from statsmodels.tsa.ar_model import AutoReg

# Debian's PyTorch; after this interpreter's own packages, which are newer.
sys.path.append("/usr/lib/python3/dist-packages")
import torch

OUT = pathlib.Path(__file__).resolve().parents[2] / "crates/breakeven/tests/data/kernels.json"
RNG = np.random.default_rng(20240608)
UNIT = 1 / 256
SOBEL_X = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]


def flat(array):
    return np.asarray(array).ravel().tolist()


def vector_add():
    cases = []
    for batch, length in ((1, 1), (1, 67), (3, 31), (5, 16)):
        # Sums of b, up to 2^24, and a, below 4, do not all fit 24 bits.
        a = RNG.integers(-1024, 1024, batch * length)
        b = RNG.integers(-(2**24), 2**24, batch * length)
        total = (a * UNIT).astype(np.float32) + b.astype(np.float32)
        assert total.dtype == np.float32
        assert length == 1 or (total != a * UNIT + b).any(), "no sum needs rounding"
        cases.append({"batch": batch, "a_unit": UNIT, "a": flat(a), "b_unit": 1.0, "b": flat(b),
                      "expected": flat(total)})
    return cases


def matrix_multiply():
    cases = []
    for batch, m, k, n in ((1, 1, 1, 1), (1, 3, 5, 7), (2, 17, 33, 9), (3, 1, 19, 5),
                           (4, 5, 3, 1), (1, 7, 129, 9)):
        a = RNG.integers(-1024, 1024, (batch, m, k))
        b = RNG.integers(-1024, 1024, (batch, k, n))
        product = (a * UNIT) @ (b * UNIT)
        assert product.dtype == np.float64
        cases.append({"dims": [batch, m, k, n], "unit": UNIT, "a": flat(a), "b": flat(b),
                      "expected": flat(product)})
    return cases


def correlate(image, taps, stride, padding):
    padded = np.pad(image, padding)
    found = signal.correlate2d(padded, taps, mode="valid")[::stride, ::stride]
    same = tuple(size // 2 for size in taps.shape)
    if all(size % 2 for size in taps.shape) and same == (padding, padding):
        other = ndimage.correlate(image, taps, mode="constant", cval=0.0)
        np.testing.assert_allclose(found, other[::stride, ::stride], atol=1e-12)
    return found


def conv2d():
    sobel = np.array(SOBEL_X, dtype=float)
    taps = lambda *shape: RNG.integers(-256, 256, shape) * UNIT  # noqa: E731
    cases = []
    for dims, filter_, stride, padding in (
        ((1, 13, 17), sobel, 1, 1),
        ((2, 9, 11), sobel, 1, 1),
        ((2, 11, 8), taps(5, 3), 1, 0),
        ((1, 7, 9), taps(5, 3), 1, 2),
        ((2, 13, 11), taps(5, 3), 2, 2),
        ((1, 15, 14), sobel, 2, 1),
        ((1, 10, 13), taps(3, 3), 2, 0),
        ((1, 9, 9), taps(5, 5), 1, 2),
        ((2, 7, 5), taps(2, 4), 3, 2),
        ((1, 1, 1), sobel, 1, 1),
        ((1, 2, 3), taps(5, 3), 1, 2),
    ):
        images = RNG.integers(0, 256, dims)
        out = np.stack([correlate(image * UNIT, filter_, stride, padding) for image in images])
        cases.append({"dims": list(dims), "filter_dims": list(filter_.shape), "stride": stride,
                      "padding": padding, "unit": UNIT, "images": flat(images),
                      "filter": flat(np.rint(filter_ / UNIT).astype(int)), "expected": flat(out)})
    return cases


def mark_centre():
    """One bright pixel raises the entropy of exactly the windows that hold it."""
    for w in range(2, 18):
        image = np.zeros((41, 41), dtype=np.uint8)
        image[20, 20] = 1
        for found in np.nonzero(rank.entropy(image, np.ones((w, w), dtype=np.uint8))):
            back, ahead = found.max() - 20, 20 - found.min()
            assert (back, ahead) == (w // 2, (w - 1) // 2), (w, back, ahead)


def pixel_entropy():
    mark_centre()
    cases = []
    for dims, window, greys, shift in (
        ((1, 19, 23), 3, 256, 0),
        ((2, 11, 14), 5, 256, 0),
        ((1, 21, 18), 8, 16, 0),
        ((2, 13, 9), 8, 256, 0),
        ((1, 37, 33), 16, 256, 0),
        ((1, 20, 35), 16, 5, 0),
        # Smaller than the window in one direction, and in both.
        ((1, 5, 24), 16, 256, 0),
        ((1, 7, 5), 16, 8, 0),
        ((1, 4, 3), 5, 256, 0),
        ((1, 1, 9), 8, 4, 0),
        ((1, 6, 7), 2, 3, 0),
        ((1, 12, 12), 3, 1, 0),
        # Grey runs: windows whose content, not only size, differs by place.
        ((1, 18, 21), 8, "ramp", 0),
        ((1, 18, 21), 8, "ramp", -1),
    ):
        if greys == "ramp":
            images = np.add.outer(np.arange(dims[1]) ** 2 // 9, np.arange(dims[2]) // 2)[None]
        else:
            images = RNG.integers(0, greys, dims) * (255 // max(greys - 1, 1))
        images = images.astype(np.uint8)
        footprint = np.ones((window, window), dtype=np.uint8)
        out = np.stack([rank.entropy(i, footprint, shift_x=shift, shift_y=shift) for i in images])
        assert out.dtype == np.float64
        # Seven digits: the tolerance is 1e-3. Adding 0 turns -0 into 0.
        cases.append({"dims": list(dims), "window": window, "shift": shift, "unit": UNIT,
                      "images": flat(images), "expected": flat(out.round(7) + 0.0)})
    return cases


def ar_series(points, kind):
    """Whole numbers: a stationary, an almost integrated, a seasonal, a drifting
    series, one far from zero, one with outliers at both ends."""
    noise = RNG.standard_normal(points)
    series = np.zeros(points)
    for t in range(points):
        before = series[max(t - 2, 0):t]
        last, second = (before[-1] if t > 0 else 0), (before[-2] if t > 1 else 0)
        memory = {"walk": (0.99, 0.0), "drift": (0.9, 0.0)}.get(kind, (0.5, 0.3))
        series[t] = memory[0] * last + memory[1] * second + noise[t]
    time = np.arange(points)
    if kind == "season":
        series += 5 * np.sin(2 * np.pi * time / 12)
    if kind == "drift":
        series += 0.3 * time
    if kind == "offset":
        series += 10_000
    if kind == "outliers":
        series[0], series[-1] = 500, -800
    return np.rint(series * 64).astype(int)


def ar_forecast():
    cases = []
    for batch, points, lags, steps, kind in (
        (1, 3, 1, 1, "plain"),
        (1, 11, 5, 3, "plain"),
        (1, 41, 20, 5, "plain"),
        (2, 100, 1, 4, "walk"),
        (3, 200, 5, 10, "plain"),
        (1, 300, 5, 10, "season"),
        (1, 300, 12, 24, "season"),
        (1, 250, 3, 10, "drift"),
        (1, 400, 20, 10, "plain"),
        (2, 150, 5, 10, "offset"),
        (1, 120, 4, 6, "outliers"),
    ):
        series = np.stack([ar_series(points, kind) for _ in range(batch)])
        out = []
        for one in series * (1 / 64):
            fit = AutoReg(one, lags=lags, trend="c").fit()
            out.append(fit.predict(start=points, end=points + steps - 1))
        cases.append({"dims": [batch, points], "lags": lags, "steps": steps, "unit": 1 / 64,
                      "series": flat(series), "expected": flat(np.stack(out))})
    return cases


def lstm_step(x, h, c, weight_ih, weight_hh, bias_ih, bias_hh):
    gates = x @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh
    i, f, g, o = np.split(gates, 4, axis=1)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return np.concatenate([sigmoid(o) * np.tanh(cell), cell], axis=1)


def torch_step(x, h, c, *weights):
    cell = torch.nn.LSTMCell(x.shape[1], h.shape[1], dtype=torch.float64)
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    cell.load_state_dict({name: torch.tensor(w.tolist(), dtype=torch.float64)
                          for name, w in zip(names, weights)})
    x, h, c = (torch.tensor(v.tolist(), dtype=torch.float64) for v in (x, h, c))
    with torch.no_grad():
        return np.array(torch.cat(cell(x, (h, c)), dim=1).tolist())


def lstm_cell():
    cases = []
    for batch, inputs, hidden, limit in ((1, 1, 1, 256), (2, 3, 5, 256), (7, 9, 8, 128),
                                         (5, 4, 17, 64), (4, 16, 24, 32), (3, 2, 3, 4096)):
        whole = lambda *shape: RNG.integers(-limit, limit + 1, shape)  # noqa: E731
        parts = {"input": whole(batch, inputs), "hidden": whole(batch, hidden),
                 "cell": whole(batch, hidden), "weight_ih": whole(4 * hidden, inputs),
                 "weight_hh": whole(4 * hidden, hidden), "bias_ih": whole(4 * hidden),
                 "bias_hh": whole(4 * hidden)}
        found = lstm_step(*(part * UNIT for part in parts.values()))
        np.testing.assert_allclose(found, torch_step(*(p * UNIT for p in parts.values())),
                                   atol=1e-6)
        cases.append({"dims": [batch, inputs, hidden], "unit": UNIT}
                     | {name: flat(part) for name, part in parts.items()}
                     | {"expected": flat(found.round(9) + 0.0)})
    return cases


def dendritic_integration():
    cases = []
    for dims, rule in (
        ((1, 1, 1, 1), {"Sigmoid": [0.5, 1.0]}),
        ((2, 3, 4, 5), {"Sigmoid": [2.0, -0.5]}),
        ((1, 10, 8, 16), {"Sigmoid": [0.25, 3.0]}),
        ((2, 3, 4, 5), {"Nmda": [1.0, -70.0]}),
        ((1, 10, 8, 16), {"Nmda": [0.5, -65.0]}),
        ((1, 2, 3, 4), {"Nmda": [0.0, -70.0]}),
        ((2, 3, 4, 5), {"BackpropagatingActionPotential": [0.5]}),
        ((1, 10, 8, 16), {"BackpropagatingActionPotential": [-0.25]}),
        ((2, 3, 4, 5), {"Multiplicative": []}),
        ((1, 10, 8, 16), {"Multiplicative": []}),
    ):
        batch, neurons, dendrites, synapses = dims
        inputs = RNG.integers(-512, 512, dims)
        weights = RNG.integers(-128, 128, dims[1:])
        conductances = RNG.integers(0, 256, dims[1:3])
        previous = RNG.integers(-1024, 1024, dims[:2])
        x, w, g = inputs * UNIT, weights * UNIT, conductances * UNIT
        s = (w * x).sum(axis=-1)
        (name, parameters), = rule.items()
        if name == "Sigmoid":
            k, theta = parameters
            f = 1 / (1 + np.exp(-k * (s - theta)))
        elif name == "Nmda":
            mg, v_rest = parameters
            f = s / (1 + mg / 3.57 * np.exp(-0.062 * (v_rest + s)))
        elif name == "BackpropagatingActionPotential":
            f = s * (1 + parameters[0] * (previous * UNIT)[:, :, None])
        else:
            f = np.prod(1 + w * x, axis=-1) - 1
        cases.append({"dims": list(dims), "rule": name, "parameters": parameters, "unit": UNIT,
                      "inputs": flat(inputs), "weights": flat(weights),
                      "conductances": flat(conductances), "previous_soma": flat(previous),
                      "expected": flat((g * f).sum(axis=-1).round(9) + 0.0)})
    return cases


def spiral(size):
    """One arm, one pixel wide, from the corner to the middle."""
    image = np.zeros((size, size), dtype=int)
    y, x, dy, dx = 0, 0, 0, 1
    image[0, 0] = 1
    free = lambda y, x: 0 <= y < size and 0 <= x < size  # noqa: E731
    while True:
        ahead, beyond = (y + dy, x + dx), (y + 2 * dy, x + 2 * dx)
        if free(*ahead) and not image[ahead] and not (free(*beyond) and image[beyond]):
            y, x = ahead
            image[y, x] = 1
        else:
            dy, dx = dx, -dy
            ahead, beyond = (y + dy, x + dx), (y + 2 * dy, x + 2 * dx)
            if not free(*ahead) or image[ahead] or (free(*beyond) and image[beyond]):
                return image


def combs(height, width):
    """Teeth that are apart for many rows and one component in the last; and the
    other way round."""
    image = np.zeros((height, width), dtype=int)
    half = width // 2
    image[:, :half:2] = 1
    image[-1, :half] = 1
    image[:, half + 1::2] = 1
    image[0, half + 1:] = 1
    return image


def stairs(size):
    """Diagonals: one component each with corners, pixels without."""
    return (np.add.outer(np.arange(size), np.arange(size)) % 3 == 0).astype(int)


def image_segmentation():
    threshold = 100
    bright = lambda mask: np.asarray(mask)[None] * 155 + 100  # noqa: E731
    noise = lambda share, *dims: np.where(RNG.random(dims) < share, 101, 100)  # noqa: E731
    smooth = ndimage.gaussian_filter(RNG.random((61, 83)), 2)
    smooth = (np.argsort(np.argsort(smooth.ravel())) * 200 // smooth.size).reshape(1, 61, 83)
    cases = []
    for images in (
        bright([[0]]), bright([[1]]), bright([[1, 0, 1, 1]]), bright([[1], [0], [1]]),
        bright(np.zeros((9, 7))), bright(np.ones((9, 7))), bright(np.indices((11, 70)).sum(0) % 2),
        bright(spiral(19)), bright(spiral(19)[::-1]), bright(combs(14, 33)), bright(combs(14, 33)[::-1]),
        bright(stairs(13)), bright(stairs(13)[:, ::-1]),
        # A word of 64 pixels ends in a run, before one, at the row's end.
        noise(0.5, 1, 12, 64), noise(0.5, 1, 12, 63), noise(0.5, 1, 9, 65), noise(0.9, 1, 7, 129),
        noise(0.3, 1, 23, 37), noise(0.45, 1, 23, 37), noise(0.6, 1, 23, 37), noise(0.8, 1, 23, 37),
        # Labels are counted in each image anew.
        noise(0.5, 3, 9, 14), smooth,
    ):
        images = images.astype(int)
        for neighbours, structure in ((4, None), (8, np.ones((3, 3)))):
            out = np.stack([ndimage.label(i > threshold, structure)[0] for i in images])
            other = [measure.label(i > threshold, connectivity=neighbours // 4) for i in images]
            np.testing.assert_array_equal(out, np.stack(other))
            cases.append({"dims": list(images.shape), "threshold": threshold, "unit": UNIT,
                          "neighbours": neighbours, "images": flat(images), "expected": flat(out)})
    return cases


def dot_product():
    cases = []
    for batch, length in ((1, 1), (1, 67), (3, 31), (2, 1100), (5, 16)):
        a = RNG.integers(-1024, 1024, (batch, length))
        b = RNG.integers(-1024, 1024, (batch, length))
        if length == 1100:
            # What the first half adds, the second takes away again, but for one product.
            a[0, 550:], b[0, 550:] = a[0, :550], -b[0, :550]
            a[0, 7], b[0, 7] = 3, 5
        products = (a * UNIT) * (b * UNIT)
        assert products.dtype == np.float64
        cases.append({"batch": batch, "unit": UNIT, "a": flat(a), "b": flat(b),
                      "expected": flat(products.sum(axis=1))})
    return cases


def main():
    # As many points as a fit needs leave no freedom for its errors, and Debian's
    # torch does without NumPy 2.
    warnings.simplefilter("ignore")
    vectors = {
        "made_by": "bench/peers/kernel_vectors.py",
        "versions": {"python": platform.python_version(), "numpy": np.__version__,
                     "scipy": scipy.__version__, "scikit-image": skimage.__version__,
                     "statsmodels": statsmodels.__version__, "torch": torch.__version__},
    }
    for make in (vector_add, matrix_multiply, conv2d, pixel_entropy, ar_forecast, lstm_cell,
                 dendritic_integration, image_segmentation, dot_product):
        vectors[make.__name__] = make()
    # One case a line: small, and a difference shows which case it is in.
    parts = []
    for name, value in vectors.items():
        if isinstance(value, list):
            rows = ",\n".join("  " + json.dumps(case, allow_nan=False) for case in value)
            parts.append(f'"{name}": [\n{rows}\n]')
        else:
            parts.append(f'"{name}": {json.dumps(value)}')
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
