"""Each kernel's work in PyTorch, on the CPU or on a GPU.

What can be prepared once is prepared: inputs, weights and outputs are on the
device. f32 as ours: products and convolutions may not round to TF32.
"""

from tensors import array, tensor, torch, without_gradients


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
    out = torch.empty_like(a)
    return lambda: torch.add(a, b, out=out)


def dot_product(work, device):
    a, b = (tensor(values, device) for values in work.inputs)
    return lambda: torch.dot(a, b).reshape(1)


def matrix_multiply(work, device):
    a, b = (tensor(values, device) for values in work.inputs)
    out = torch.empty_like(a)
    return lambda: torch.bmm(a, b, out=out)


def conv2d(work, device):
    batch, taps = work.inputs
    t, w = tensor(batch[:, None], device), tensor(taps[None, None], device)
    padding = work.sizes["padding"]
    return lambda: torch.nn.functional.conv2d(t, w, padding=padding)


def lstm_cell(work, device):
    x, h, c, *weights = (tensor(values, device) for values in work.inputs)
    _, inputs, hidden = work.sizes["dims"]
    cell = torch.nn.LSTMCell(inputs, hidden)
    cell.load_state_dict(dict(zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), weights)))
    cell = cell.to(device)
    return lambda: cell(x, (h, c))


def dendritic_integration(work, device):
    x, w, g = (tensor(values, device) for values in work.inputs)
    block, steepness, v_rest = work.sizes["mg"] / 3.57, -0.062, work.sizes["v_rest"]

    def step():
        s = (x * w).sum(-1)
        f = s / (1 + block * torch.exp(steepness * (v_rest + s)))
        return (f * g).sum(-1)
    return step


def ar_forecast(work, device):
    """Normal equations of all series at once: the covariances of each window's
    last value with those before it."""
    series = tensor(work.inputs[0], device)
    lags, steps = work.sizes["lags"], work.sizes["steps"]

    def step():
        level = series.mean(1, keepdim=True)
        windows = (series - level).unfold(1, lags + 1, 1)
        means = windows.mean(1, keepdim=True)
        centred = windows - means
        gram = centred.transpose(1, 2) @ centred
        weights = torch.linalg.solve(gram[:, :lags, :lags], gram[:, :lags, lags])
        intercept = means[:, 0, lags] - (weights * means[:, 0, :lags]).sum(1)
        known = series[:, -lags:] - level
        for _ in range(steps):
            following = intercept + (weights * known[:, -lags:]).sum(1)
            known = torch.cat([known, following[:, None]], 1)
        return known[:, lags:] + level
    return step


MAKERS = {"vector_add": vector_add, "dot_product": dot_product,
          "matrix_multiply": matrix_multiply, "conv2d": conv2d, "lstm_cell_forward": lstm_cell,
          "dendritic_integration": dendritic_integration, "ar_forecast": ar_forecast}


def torch_peer(work, device):
    """The kernel's work, or None where PyTorch has nothing like it."""
    make = MAKERS.get(work.kernel)
    if torch is None or make is None:
        return None
    return without_gradients(make(work, device))


def result(values):
    """A result on the host, in parts where it is in parts."""
    if isinstance(values, tuple):
        return [array(part) for part in values]
    return array(values)
