"""The three networks, as arrays: their layers and what they compute once trained.

The names of the arrays are those of torch's state dict, ``network.layer.array``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError

#: Widths of the hidden layers, in all three networks (paper, appendix C).
HIDDEN = (128, 64)
#: Which hidden layers a ReLU follows: in the paper's tables, not the second of means and variances.
RECTIFIED = {"weights": (True, True), "means": (True, False), "variances": (True, False)}
#: log σ² is kept within these, in units of the standardised y: σ between 1e-4 and 1e4.
LOG_VARIANCE = (-18.4, 18.4)
#: Added to the variance in a batch normalisation.
EPSILON = 1e-5

State: TypeAlias = Mapping[str, FloatArray]
#: Layers of a network: matrix (inputs, outputs), bias, and whether a ReLU follows.
Layers: TypeAlias = list[tuple[FloatArray, FloatArray, bool]]


@dataclass(frozen=True)
class Sizes:
    """Numbers of columns of x and y, and of components.

    Examples
    --------
    >>> sizes = Sizes(d_x=2, d_y=2, components=20)
    >>> sizes.widths("weights"), sizes.widths("means")
    ((2, 128, 64, 20), (2, 128, 64, 40))
    """

    d_x: int
    d_y: int
    components: int

    def widths(self, network: str) -> tuple[int, ...]:
        """Return the widths of a network's layers, input first."""
        out = self.components * (1 if network == "weights" else self.d_y)
        return (self.d_x, *HIDDEN, out)

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the name and shape of every array of the networks."""
        for network in RECTIFIED:
            widths = self.widths(network)
            for i in range(len(widths) - 1):
                layer = f"{network}.linear{i + 1}"
                yield f"{layer}.weight", (widths[i + 1], widths[i])
                yield f"{layer}.bias", (widths[i + 1],)
            for i, width in enumerate(HIDDEN):
                for array in ("weight", "bias", "running_mean", "running_var"):
                    yield f"{network}.norm{i + 1}.{array}", (width,)


def check_state(state: State, sizes: Sizes) -> dict[str, FloatArray]:
    """Return read-only copies of the arrays that the sizes ask for, checked one by one."""
    arrays = {}
    for name, shape in sizes.shapes():
        if name not in state:
            raise InputError(f"The network lacks the array {name!r}. Is it of another model?")
        array = np.array(state[name], dtype=np.float64)
        if array.shape != shape:
            raise InputError(f"The network's array {name!r} must have shape {shape}, got {array.shape}.")
        if not np.isfinite(array).all() or (name.endswith("running_var") and (array < 0).any()):
            raise InputError(f"The network's array {name!r} has impossible values. Fit it again.")
        array.flags.writeable = False
        arrays[name] = array
    return arrays


def fold(state: State, network: str) -> Layers:
    """Return a network's layers as (matrix, bias, rectified), batch normalisation folded in.

    A trained batch normalisation is an affine map of each column, by the mean and variance that it
    saw in training (torch's eval mode), and so belongs to the linear layer before it.
    """
    layers = []
    for i in range(len(HIDDEN) + 1):
        weight = state[f"{network}.linear{i + 1}.weight"]
        bias = state[f"{network}.linear{i + 1}.bias"]
        rectified = False
        if i < len(HIDDEN):
            norm = {a: state[f"{network}.norm{i + 1}.{a}"] for a in ("weight", "bias")}
            mean = state[f"{network}.norm{i + 1}.running_mean"]
            var = state[f"{network}.norm{i + 1}.running_var"]
            gain = norm["weight"] / np.sqrt(var + EPSILON)
            weight, bias = weight * gain[:, None], (bias - mean) * gain + norm["bias"]
            rectified = RECTIFIED[network][i]
        layers.append((np.ascontiguousarray(weight.T), bias, rectified))
    return layers


def apply(layers: Layers, x: FloatArray) -> FloatArray:
    """Return what a network gives for rows x (n, d_x): (n, width of the last layer)."""
    for matrix, bias, rectified in layers:
        x = x @ matrix
        x += bias
        if rectified:
            np.maximum(x, 0.0, out=x)
    return x
