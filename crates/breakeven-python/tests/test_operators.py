"""The library's operators on arrays."""

import doctest
import os
import subprocess
import sys

import numpy as np
import pytest

import breakeven as be
from breakeven import operators

SOBEL = [[1, 0, -1], [2, 0, -2], [1, 0, -1]]
IMAGES = (np.arange(2 * 16 * 16) * 7919 % 256).reshape(2, 16, 16).astype(np.uint8)


def images():
    return IMAGES.astype(np.float32) / 256


def test_the_documentations_examples_hold():
    assert doctest.testmod(operators).failed == 0


def test_conv2d_is_cross_correlation():
    image, expected = np.pad(images(), ((0, 0), (1, 1), (1, 1))), np.zeros((2, 16, 16))
    for y in range(3):
        for x in range(3):
            expected += SOBEL[y][x] * image[:, y : y + 16, x : x + 16]
    found = operators.conv2d(SOBEL, padding=1)(images())
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_pixel_entropy_of_a_window():
    found = operators.pixel_entropy(3)(IMAGES)
    window = IMAGES[0, 4:7, 9:12].ravel()
    part = np.unique(window, return_counts=True)[1] / 9
    assert found[0, 5, 10] == pytest.approx(-(part * np.log2(part)).sum(), abs=1e-3)


def test_8_bit_images_are_v_over_256():
    for operator in (operators.conv2d(SOBEL), operators.image_segmentation(100 / 256)):
        np.testing.assert_array_equal(operator(IMAGES), operator(images()))
    vectors = np.arange(6, dtype=np.uint8).reshape(1, 6)
    np.testing.assert_array_equal(operators.vector_add()(vectors, vectors), vectors * 2.0)


def test_labels_are_in_raster_order():
    image = np.array([[[1, 0, 1], [1, 0, 0], [0, 0, 1]]], np.float32)
    labels = operators.image_segmentation(0.5)(image)
    assert labels.dtype == np.uint32
    assert labels[0].tolist() == [[1, 0, 2], [1, 0, 0], [0, 0, 3]]
    corners = np.array([[[1, 0], [0, 1]]], np.float32)
    assert operators.image_segmentation(0.5, connectivity=8)(corners).max() == 1


def test_a_chain_is_its_stages_and_the_fused_form_is_too():
    stages = (
        operators.conv2d(SOBEL, padding=1),
        operators.pixel_entropy(5),
        operators.image_segmentation(1.0),
    )
    chain = operators.chain(*stages)
    apart = images()
    for stage in stages:
        apart = stage(apart)
    np.testing.assert_array_equal(chain(images()), apart)
    fused = operators.fused_conv_entropy_segment(SOBEL, 5, 1.0, padding=1)
    np.testing.assert_array_equal(fused(images()), apart)
    assert chain.name == "conv2d+pixel_entropy+image_segmentation"
    with pytest.raises(be.InvalidError, match="labels"):
        stages[2].then(stages[0])
    with pytest.raises(be.InvalidError):
        operators.chain()


def test_products_and_sums():
    random = np.random.default_rng(1)
    a, b = random.random((3, 20, 30), np.float32), random.random((3, 30, 10), np.float32)
    np.testing.assert_allclose(operators.matrix_multiply()(a, b), a @ b, rtol=1e-4)
    np.testing.assert_allclose(operators.tensor_core_matmul()(a, b), a @ b, rtol=1e-2)
    x, y = random.random((4, 1000), np.float32), random.random((4, 1000), np.float32)
    np.testing.assert_array_equal(operators.vector_add()(x, y), x + y)
    dots = operators.dot_product()(x, y)
    np.testing.assert_allclose(dots.ravel(), (x * y).sum(axis=1), rtol=1e-4)


def test_a_forecast_goes_on():
    series = np.sin(np.arange(200) / 5)[np.newaxis]
    found = operators.ar_forecast(2, 5)(series)
    np.testing.assert_allclose(found[0], np.sin(np.arange(200, 205) / 5), atol=1e-2)


def test_an_lstm_cell_is_pytorchs():
    random = np.random.default_rng(2)
    weights = [random.normal(size=shape) for shape in [(16, 3), (16, 4), (16,), (16,)]]
    x, h, c = random.normal(size=(2, 3)), random.normal(size=(2, 4)), random.normal(size=(2, 4))
    gates = x @ weights[0].T + h @ weights[1].T + weights[2] + weights[3]
    i, f, g, o = np.split(gates, 4, axis=1)

    def sigmoid(value):
        return 1 / (1 + np.exp(-value))

    after = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    found = operators.lstm_cell(*weights)(x, h, c)
    np.testing.assert_allclose(found[:, 0], sigmoid(o) * np.tanh(after), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found[:, 1], after, rtol=1e-3, atol=1e-4)


def test_neurons_integrate():
    weights, conductances = np.ones((1, 2, 3)), np.ones((1, 2))
    inputs = np.full((1, 1, 2, 3), 0.5)
    soma = operators.dendritic_integration(weights, conductances, "multiplicative")(inputs)
    assert soma[0, 0] == pytest.approx(2 * (1.5**3 - 1), rel=1e-4)
    sigmoid = operators.dendritic_integration(weights, conductances, "sigmoid", k=1.0, theta=1.5)
    assert sigmoid(inputs)[0, 0] == pytest.approx(1.0, rel=1e-4)
    with pytest.raises(be.InvalidError, match="multiplicative"):
        operators.dendritic_integration(weights, conductances, "relu")


def test_a_result_explains_itself():
    result = operators.conv2d(SOBEL).run(images(), strategy="cpu-only", operation="edges")
    assert result.operation == "edges" and "edges" in result.explain()
    assert result.outputs.shape == (2, 14, 14) and result.strategy_used == "cpu-only"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: operators.conv2d([[]]),
        lambda: operators.conv2d([1, 2]),
        lambda: operators.conv2d(SOBEL, stride=0),
        lambda: operators.conv2d(SOBEL)(np.zeros((2, 2))),
        lambda: operators.conv2d(SOBEL)(np.zeros((1, 2, 2))),
        lambda: operators.conv2d(SOBEL)(3.0),
        lambda: operators.conv2d(SOBEL)(np.array([["a"]])),
        lambda: operators.conv2d(SOBEL)(images(), images()),
        lambda: operators.vector_add()(np.zeros((2, 3)), np.zeros((3, 3))),
        lambda: operators.vector_add()(np.zeros((2, 3))),
        lambda: operators.pixel_entropy(0),
        lambda: operators.image_segmentation(float("nan")),
        lambda: operators.image_segmentation(0.5, connectivity=6),
        lambda: operators.lstm_cell([1.0], [1.0], [1.0], [1.0]),
        lambda: operators.ar_forecast(0, 1),
        lambda: operators.vector_add()(np.ones((1, 1)), np.ones((1, 1)), strategy="both"),
        lambda: operators.vector_add()(np.ones((1, 1)), np.ones((1, 1)), device="no:such"),
    ],
)
def test_wrong_use_is_reported(wrong):
    with pytest.raises(be.InvalidError):
        wrong()


def software():
    return [name for name, kind in operators.devices() if kind == "software"]


def test_drivers_print_nothing_on_the_terminal():
    program = "from breakeven import operators; print(operators.devices())"
    environment = {k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_a_gpu_gives_what_the_cpu_gives():
    if not software():
        pytest.skip("no Vulkan driver (Debian: mesa-vulkan-drivers)")
    operator = operators.conv2d(SOBEL, padding=1)
    try:
        result = operator.run(images(), strategy="gpu-only", device=software()[0])
    except be.InvalidError as error:
        if "without GPU kernels" in str(error):
            pytest.skip(str(error))
        raise
    assert result.gpu_tasks == 2
    np.testing.assert_allclose(result.outputs, operator(images()), rtol=1e-4, atol=1e-5)
