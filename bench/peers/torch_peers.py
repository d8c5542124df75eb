"""Each kernel's work in PyTorch, on the CPU or on a GPU.

What can be prepared once is prepared: inputs, weights, outputs and what is between
them are on the device, and a function is called with its arguments and nothing of
ours around it. f32 as ours: products and convolutions may not round to TF32.
"""

from functools import partial

from tensors import array, tensor, torch


def round_as_f32():
    """No TF32 in products and convolutions, under the names that this PyTorch has."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    try:
        matmul.fp32_precision = cudnn.conv.fp32_precision = "ieee"
    except (AttributeError, AssertionError):
        # Before 2.9.
        matmul.allow_tf32 = cudnn.allow_tf32 = False


if torch is not None:
    round_as_f32()
    # The best of cuDNN's algorithms, looked for once.
    torch.backends.cudnn.benchmark = True


def vector_add(work, device):
    a, b = (tensor(values, device) for values in work.inputs)
    return partial(torch.add, a, b, out=torch.empty_like(a))


def dot_product(work, device):
    a, b = (tensor(values, device) for values in work.inputs)
    return partial(torch.dot, a, b, out=a.new_empty(()))


def matrix_multiply(work, device):
    a, b = (tensor(values, device) for values in work.inputs)
    if len(a) == 1:
        return partial(torch.mm, a[0], b[0], out=torch.empty_like(a[0]))
    return partial(torch.bmm, a, b, out=torch.empty_like(a))


def tensor_core_matmul(work, device):
    a, b = (tensor(values, device).half() for values in work.inputs)
    return partial(torch.bmm, a, b, out=torch.empty_like(a))


def conv2d(work, device):
    batch, taps = work.inputs
    t, w = tensor(batch[:, None], device), tensor(taps[None, None], device)
    return partial(torch.conv2d, t, w, None, 1, work.sizes["padding"])


def lstm_cell(work, device):
    x, h, c, *weights = (tensor(values, device) for values in work.inputs)
    return partial(torch.lstm_cell, x, (h, c), *weights)


def dendritic_integration(work, device):
    """1 / (1 + block · e^(steepness (v_rest + s))) is a sigmoid, which is one call."""
    x, w, g = (tensor(values, device) for values in work.inputs)
    block, steepness, v_rest = work.sizes["mg"] / 3.57, -0.062, work.sizes["v_rest"]
    shift = -(torch.tensor(block, device=device).log() + steepness * v_rest)
    products, s, f = torch.empty_like(x), torch.empty_like(x[..., 0]), torch.empty_like(x[..., 0])
    out = torch.empty_like(s[..., 0])

    def step():
        torch.mul(x, w, out=products)
        torch.sum(products, -1, out=s)
        torch.add(shift, s, alpha=-steepness, out=f)
        f.sigmoid_().mul_(s).mul_(g)
        return torch.sum(f, -1, out=out)
    return step


def ar_forecast(work, device):
    """Normal equations of all series at once: the covariances of each window's
    last value with those before it."""
    series = tensor(work.inputs[0], device)
    lags, steps = work.sizes["lags"], work.sizes["steps"]
    around, level = torch.empty_like(series), torch.empty_like(series[:, :1])
    windows = around.unfold(1, lags + 1, 1)
    means, centred = torch.empty_like(windows[:, :1]), torch.empty_like(windows)
    transposed = centred.transpose(1, 2)
    gram = series.new_empty(len(series), lags + 1, lags + 1)
    # The last values and, behind them, what follows from them.
    known = series.new_empty(len(series), lags + steps)
    last, forecast = around[:, -lags:], known[:, lags:]
    before = [known[:, None, t:t + lags] for t in range(steps)]
    after = [known[:, lags + t, None, None] for t in range(steps)]

    def step():
        torch.mean(series, 1, keepdim=True, out=level)
        torch.sub(series, level, out=around)
        torch.mean(windows, 1, keepdim=True, out=means)
        torch.sub(windows, means, out=centred)
        torch.bmm(transposed, centred, out=gram)
        # Without a look at whether it is singular, for which a GPU would have to wait.
        weights = torch.linalg.solve_ex(gram[:, :lags, :lags], gram[:, :lags, lags:])[0]
        intercept = torch.baddbmm(means[:, :, lags:], means[:, :, :lags], weights, alpha=-1)
        known[:, :lags] = last
        for values, following in zip(before, after):
            torch.baddbmm(intercept, values, weights, out=following)
        return forecast + level
    return step


MAKERS = {"vector_add": vector_add, "dot_product": dot_product,
          "matrix_multiply": matrix_multiply, "tensor_core_matmul": tensor_core_matmul,
          "conv2d": conv2d, "lstm_cell_forward": lstm_cell,
          "dendritic_integration": dendritic_integration, "ar_forecast": ar_forecast}


def torch_peer(work, device):
    """The kernel's work, or None where PyTorch has nothing like it."""
    make = MAKERS.get(work.kernel)
    return make and make(work, device)


def result(values):
    """A result on the host, in parts where it is in parts."""
    if isinstance(values, tuple):
        return [array(part) for part in values]
    return array(values.float())
