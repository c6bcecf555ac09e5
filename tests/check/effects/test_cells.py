"""Sums over cells: of one sample and of many, of narrow cells and of the wide ones."""

import numpy as np
import pandas as pd
import pytest

from condgof.check import axes_of
from condgof.check.effects import Cells, everything, make_partitions
from condgof.sample import Sample

ROWS = 2000


@pytest.fixture(scope="module")
def cells():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(
        {
            "number": rng.lognormal(size=ROWS),
            "other": rng.normal(size=ROWS),
            "whole": rng.integers(0, 50, ROWS),
            "letter": rng.choice(list("ABCDE"), ROWS),
            "flag": rng.integers(0, 2, ROWS),
        }
    )
    sample = Sample.from_data(x, np.arange(float(ROWS)))
    axes = axes_of(sample.x_columns, sample.x, ())
    partitions = make_partitions(axes, range(len(axes)))
    return Cells.from_partitions([everything(ROWS), *partitions])


def sums_by_partition(cells, rows, values):
    """Sum values (r, m, K) of some rows over each cell by np.add.at."""
    sums = np.zeros((len(cells.owner), *values.shape[1:]))
    for start, partition in zip(cells.starts, cells.partitions, strict=True):
        np.add.at(sums, start + partition.codes[rows], values)
    return sums


@pytest.mark.parametrize("samples", [1, 3, 12])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_are_those_of_the_rows(cells, samples, dtype):
    values = np.random.default_rng(1).normal(size=(ROWS, samples, 3)).astype(dtype)
    expected = sums_by_partition(cells, np.arange(ROWS), values)
    np.testing.assert_allclose(cells.sums(values), expected, rtol=1e-5, atol=1e-3)


def test_sums_of_some_rows_and_of_some_partitions(cells):
    rng = np.random.default_rng(2)
    rows = rng.choice(ROWS, 300, replace=False)
    values = rng.normal(size=(300, 10, 4)).astype(np.float32)
    some = cells.take(rows)
    expected = sums_by_partition(cells, rows, values)
    np.testing.assert_allclose(some.sums(values), expected, rtol=1e-5, atol=1e-3)
    last = len(cells.partitions) - 1
    np.testing.assert_allclose(
        some.only([last]).sums(values), expected[cells.of_partition(last)], atol=1e-3
    )


def test_the_same_value_in_all_rows_is_multiplied_by_their_number(cells):
    values = np.broadcast_to([1.0, 2.0], (ROWS, 2))
    np.testing.assert_array_equal(cells.sums(values)[:, 1], 2.0 * cells.rows)


def test_wide_cells_are_made_of_narrow_ones(cells):
    wide = [one for one in cells.partitions if one.narrower is not None]
    assert {len(one.axes) for one in wide} == {1, 2}
    for one in wide:
        np.testing.assert_array_equal(one.codes, one.cell_of_narrower[one.narrower.codes])
        for cut, narrow in zip(one.cuts, one.narrower.cuts, strict=True):
            assert set(cut.low) <= set(narrow.low)
