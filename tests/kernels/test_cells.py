"""Kernels of a discrete y: centred features against the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import condgof as cg
from condgof.errors import InputError, InputTypeError
from condgof.kernels import Block, Cells, cell_scales, resolve_cells
from oracle import centred_h
from seeds import examples

LABELS = Cells((Block("labels", 0, 4),), "labels")
ORDERED = Cells((Block("labels", 0, 4, np.arange(4.0)),), "labels")
COUNTS = Cells(
    (Block("counts", 0, 4, np.array([-1.0, -0.5, 0.7, 3.0]), distances=True),), "counts"
)


def features(kernel, cells, p, codes):
    residuals = np.eye(p.shape[1])[codes] - p
    return resolve_cells(kernel, cells).features(residuals)


def gram_of(kernel, cells):
    positions = cells.blocks[0].positions
    points = np.arange(4.0) if positions is None else positions
    return kernel(points[:, None], points[:, None])


@settings(max_examples=examples(10), deadline=None)
@given(st.integers(0, 10**6))
@pytest.mark.parametrize(
    ("kernel", "cells"),
    [
        (cg.Categorical(0.0), LABELS),
        (cg.Ordinal(), ORDERED),
        (cg.Gaussian(1.3), ORDERED),
        (cg.Gaussian(0.8), COUNTS),
        (cg.IMQ(2.0), COUNTS),
        (cg.Matern12(1.0), COUNTS),
        (cg.Categorical(0.0), COUNTS),
    ],
)
def test_products_of_features_are_the_centred_kernel(kernel, cells, seed):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(4, 0.5), size=5)
    codes = rng.integers(0, 4, 5)
    c = features(kernel, cells, p, codes)
    np.testing.assert_allclose(
        c @ c.T, centred_h(gram_of(kernel, cells), p, codes), atol=1e-9
    )
    # The mean of the features is 0, whatever the kernel.
    mean = sum(p[:, [k]] * features(kernel, cells, p, np.full(5, k)) for k in range(4))
    assert np.abs(mean).max() < 1e-12


def test_what_the_default_stands_for():
    kernels = [resolve_cells(cg.Gaussian(), cells) for cells in (LABELS, ORDERED, COUNTS)]
    shown = [repr(kernel) for kernel in kernels]
    assert shown == ["Categorical(0)", "Ordinal()", "Gaussian(1)"]
    names = [kernel.to_dict()["kernel"] for kernel in kernels]
    assert names == ["Categorical", "Ordinal", "Gaussian"]


def test_any_similarity_is_the_same_kernel():
    a, b = (resolve_cells(cg.Categorical(s), LABELS) for s in (0.0, 0.7))
    r = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_array_equal(a.features(r), b.features(r))


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (cg.Gaussian(2.0), InputError, "classes without an order have none"),
        (cg.Ordinal(), InputError, "classes without an order have none"),
        (cg.Gaussian(1.0).on(0), InputTypeError, "kernel_y of a discrete y must be"),
        ("delta", InputTypeError, "kernel_y of a discrete y must be"),
    ],
)
def test_kernels_that_do_not_fit(kernel, error, message):
    with pytest.raises(error, match=message):
        resolve_cells(kernel, LABELS)


def test_sizes():
    for cells in (LABELS, ORDERED, COUNTS):
        for kernel in cell_scales(cells, (2.0, 1.0)):
            assert kernel.features(np.zeros((2, 4))).shape == (2, kernel.size)
    assert [k.name for k in cell_scales(COUNTS, (2.0, 1.0))] == ["counts", "counts"]
    assert [repr(k) for k in cell_scales(ORDERED, (2.0,))] == [
        "Ordinal()",
        "Categorical(0)",
    ]
