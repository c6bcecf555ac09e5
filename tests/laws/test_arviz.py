"""ArviZ and xarray: posterior predictive draws, of the packages and of stand-ins."""

import numpy as np
import pytest
import xarray as xr

import condgof as cg
from condgof.errors import InputError, ShapeError

Y = np.random.default_rng(0).normal(size=(4, 25, 30))
X = np.linspace(-1, 1, 30)
DIMS = ("chain", "draw", "obs")


class DataArray:
    """As much of an xarray.DataArray as is read."""

    def __init__(self, values, dims):
        self.values = values
        self.dims = dims

    def transpose(self, *dims):
        return DataArray(self.values.transpose([self.dims.index(d) for d in dims]), dims)


class Dataset:
    """The same of a Dataset, and of a group of a DataTree."""

    def __init__(self, variables):
        self.data_vars = {name: DataArray(v, d) for name, (d, v) in variables.items()}
        self.dims = ()

    def __getitem__(self, name):
        return self.data_vars[name]


class InferenceData:
    """The same of an InferenceData."""

    def __init__(self, **groups):
        self._groups = list(groups)
        vars(self).update(groups)


for kind in (DataArray, Dataset):
    kind.__module__ = "xarray"
InferenceData.__module__ = "arviz"


def data_tree(**groups):
    """What arviz ≥ 1 makes."""
    return xr.DataTree.from_dict(
        {name: xr.Dataset(group) for name, group in groups.items()}
    )


def stand_in(**groups):
    return InferenceData(**{name: Dataset(group) for name, group in groups.items()})


@pytest.fixture(params=[stand_in, data_tree])
def make(request):
    return request.param


def test_all_chains_are_draws(make):
    data = make(
        posterior={"a": (DIMS[:2], Y[:, :, 0])}, posterior_predictive={"y": (DIMS, Y)}
    )
    rows = Y.reshape(100, 30).T
    group = data.posterior_predictive
    turned = group["y"].transpose("obs", "draw", "chain")
    for container in (data, group, group["y"], turned):
        law = cg.as_model(container)
        assert law.rows == 30
        assert law.values.shape == (30, 100)
        np.testing.assert_array_equal(np.sort(law.values, axis=1), np.sort(rows, axis=1))
        np.testing.assert_array_equal(law.values, cg.from_draws(container).values)
    np.testing.assert_array_equal(cg.as_model(data).values, rows)
    assert cg.adaptive(data, X, Y[0, 0], rng=0).pvalue > 0.001
    assert cg.adaptive(data, X, Y[0, 0] + 3 * X, rng=0).pvalue < 0.05


def test_several_columns_of_y(make):
    both = np.stack([Y, 2 * Y], axis=-1)
    law = cg.as_model(make(posterior_predictive={"y": ((*DIMS, "column"), both)}))
    np.testing.assert_array_equal(law.values, both.reshape(100, 30, 2).transpose(1, 0, 2))


def test_what_is_refused(make):
    two = make(posterior_predictive={"y": (DIMS, Y), "z": (DIMS, -Y)})
    with pytest.raises(
        InputError,
        match=r"2 variables \(y, z\).*from_draws\(idata.posterior_predictive\['y'\]\)",
    ):
        cg.as_model(two)
    assert cg.from_draws(two.posterior_predictive["z"]).rows == 30
    with pytest.raises(
        InputError,
        match=r"no group posterior_predictive \(it has posterior\).*pm.sample_post",
    ):
        cg.as_model(make(posterior={"a": (DIMS[:2], Y[:, :, 0])}))
    with pytest.raises(ShapeError, match="and this array has chain, draw"):
        cg.from_draws(make(posterior_predictive={"y": (DIMS[:2], Y[:, :, 0])}))


def test_an_array_of_xarray_without_draws_is_any_array():
    table = xr.DataArray(Y.reshape(100, 30).T, dims=("row", "member"))
    assert cg.from_draws(table).values.shape == (30, 100)
    with pytest.raises(TypeError, match="An array alone does not say what it is"):
        cg.as_model(table)
