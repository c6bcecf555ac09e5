"""The fitted network: its arrays, what they compute, the law that they give, and its file.

The names of the arrays are those of torch's state dict, ``network.layer.array``. A file is in the
safetensors format: eight bytes with the length of a JSON header, the header, then the numbers, and so
nothing that could be run. NumPy alone reads and writes it, so that a file does not depend on what is
installed; other programs can open it with the safetensors library.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.errors import InputError, ShapeError
from condgof.laws._law import Batched, Law
from condgof.laws._mixture import NormalMixture, Parts
from condgof.laws.fits._linear import Fitted
from condgof.sample import as_numbers, is_frame

#: Widths of the hidden layers, in all three networks (paper, appendix C).
HIDDEN = (128, 64)
#: The networks, and which layers a ReLU follows: in the paper's tables, not the second of the last two.
NETWORKS = {
    "weights": (True, True, False),
    "means": (True, False, False),
    "variances": (True, False, False),
}
#: log σ² is kept within these, in units of the standardised y: σ between 1e-4 and 1e4.
LOG_VARIANCE = (-18.4, 18.4)
#: Added to the variance in a batch normalisation.
EPSILON = 1e-5
#: Its arrays, as torch calls them.
NORM = ("weight", "bias", "running_mean", "running_var")

#: What a file says that it is, as those of 0.1 do.
FORMAT = "condgof.models.mdn/1"
LONGEST_HEADER = 1 << 20
#: What reading a file that is something else may raise.
BROKEN = (ValueError, KeyError, TypeError, RecursionError)
#: Arrays of a model beside those of its networks.
SHIFTS = ("x_shift", "x_scale", "y_shift", "y_scale")

State: TypeAlias = Mapping[str, FloatArray]
#: Layers of a network: matrix (inputs, outputs), bias, and whether a ReLU follows.
Layers: TypeAlias = list[tuple[FloatArray, FloatArray, bool]]


class Layer(NamedTuple):
    """A linear layer and what follows it, by their names; "" where nothing does."""

    network: str
    linear: str
    norm: str
    relu: str
    inputs: int
    outputs: int


@dataclass(frozen=True)
class Sizes:
    """Numbers of columns of x and y, and of components."""

    d_x: int
    d_y: int
    components: int

    def layers(self) -> Iterator[Layer]:
        """Yield the layers of all networks."""
        for network, rectified in NETWORKS.items():
            last = self.components * (1 if network == "weights" else self.d_y)
            widths = (self.d_x, *HIDDEN, last)
            for i, relu in enumerate(rectified, 1):
                norm = f"norm{i}" if i <= len(HIDDEN) else ""
                yield Layer(network, f"linear{i}", norm, f"relu{i}" * relu, widths[i - 1], widths[i])

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the name and shape of every array of the networks."""
        for layer in self.layers():
            yield f"{layer.network}.{layer.linear}.weight", (layer.outputs, layer.inputs)
            yield f"{layer.network}.{layer.linear}.bias", (layer.outputs,)
            for array in NORM if layer.norm else ():
                yield f"{layer.network}.{layer.norm}.{array}", (layer.outputs,)


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


def fold(state: State, sizes: Sizes) -> dict[str, Layers]:
    """Return each network's layers as (matrix, bias, rectified), batch normalisation folded in.

    A trained batch normalisation is an affine map of each column, by the mean and variance that it
    saw in training (torch's eval mode), and so belongs to the linear layer before it.
    """
    networks: dict[str, Layers] = {network: [] for network in NETWORKS}
    for layer in sizes.layers():
        weight, bias = (state[f"{layer.network}.{layer.linear}.{a}"] for a in ("weight", "bias"))
        if layer.norm:
            gain, shift, mean, var = (state[f"{layer.network}.{layer.norm}.{a}"] for a in NORM)
            gain = gain / np.sqrt(var + EPSILON)
            weight, bias = weight * gain[:, None], (bias - mean) * gain + shift
        networks[layer.network].append((np.ascontiguousarray(weight.T), bias, bool(layer.relu)))
    return networks


def apply(layers: Layers, x: FloatArray) -> FloatArray:
    """Return what a network gives for rows x (n, d_x): (n, width of the last layer)."""
    for matrix, bias, rectified in layers:
        x = x @ matrix
        x += bias
        if rectified:
            np.maximum(x, 0.0, out=x)
    return x


@dataclass(frozen=True)
class History:
    """How training went: mean negative log-likelihoods of each epoch, in the units of y."""

    train: tuple[float, ...] = ()
    #: Empty when no rows were set aside.
    validation: tuple[float, ...] = ()
    #: The epoch, counted from 1, whose weights the model has.
    best_epoch: int = 0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MDN(Fitted):
    """Mixture density network, p(y|x) = Σ_c π_c(x) N(y; μ_c(x), diag σ_c(x)²).

    Three networks give π, μ and log σ² (paper, appendix C). `fit_mdn` makes one, with torch; what it
    makes is plain NumPy, evaluates in double precision and in batches, and needs torch no more.

    Parameters
    ----------
    sizes, state : Sizes, mapping of str to ndarray
        Numbers of columns and components, and the arrays, named as in torch's state dict.
    x_shift, x_scale, y_shift, y_scale : ndarrays of shape (d_x,) and (d_y,)
        The networks see (x − x_shift)/x_scale; what they give is of (y − y_shift)/y_scale.
    x_names : tuple of str, optional
        The columns of the frame it was fitted on; a frame to score must have them, in any order.
    batch_size : int
        Rows that are evaluated at a time.
    history : History
        How training went.

    Examples
    --------
    >>> from condgof.laws.mdn import fit_mdn
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 400)
    >>> y = x + 0.1 * rng.standard_normal(400)
    >>> model = fit_mdn(x, y, components=2, epochs=30, rng=0)
    >>> model(x).score(y).shape
    (400, 1)
    """

    sizes: Sizes
    state: State
    x_shift: FloatArray
    x_scale: FloatArray
    y_shift: FloatArray
    y_scale: FloatArray
    x_names: tuple[str, ...] | None = None
    batch_size: int = 4096
    history: History = field(default_factory=History)
    _layers: dict[str, Layers] = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "batched", True)
        object.__setattr__(self, "state", check_state(self.state, self.sizes))
        for name in SHIFTS:
            d = self.sizes.d_x if name.startswith("x") else self.sizes.d_y
            array = np.array(getattr(self, name), dtype=np.float64)
            if array.shape != (d,) or not np.isfinite(array).all():
                raise InputError(f"{name} must be {d} finite numbers, got {array}.")
            if name.endswith("scale") and not (array > 0).all():
                raise InputError(f"{name} must be positive, got {array}.")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if not isinstance(self.batch_size, int) or self.batch_size < 1:
            raise InputError(f"batch_size must be a positive integer, got {self.batch_size!r}.")
        object.__setattr__(self, "_layers", fold(self.state, self.sizes))

    def __repr__(self) -> str:
        return f"MDN(d_x={self.sizes.d_x}, d_y={self.sizes.d_y}, components={self.sizes.components})"

    def with_batch_size(self, batch_size: int) -> MDN:
        """Return the same model, evaluated in batches of another size."""
        return replace(self, batch_size=batch_size)

    def save(self, path: str | Path) -> None:
        """Write the model to one file, in the safetensors format (no pickle); see `load`.

        A file that is there is replaced once the new one is complete.
        """
        path = Path(path)
        arrays = {**self.state, **{name: getattr(self, name) for name in SHIFTS}}
        about = {
            "sizes": asdict(self.sizes),
            "x_names": self.x_names,
            "batch_size": self.batch_size,
            "history": asdict(self.history),
        }
        header: dict[str, Any] = {"__metadata__": {"format": FORMAT, "model": json.dumps(about)}}
        start = 0
        for name, array in arrays.items():
            end = start + array.nbytes
            header[name] = {"dtype": "F64", "shape": list(array.shape), "data_offsets": [start, end]}
            start = end
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            with temporary.open("wb") as file:
                file.write(len(text).to_bytes(8, "little") + text)
                for array in arrays.values():
                    file.write(array.astype("<f8").tobytes())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    @staticmethod
    def load(path: str | Path) -> MDN:
        """Read a model that `save` wrote, or say what is wrong with the file.

        Nothing in it is ever run, and no more is ever read than it holds.
        """

        def refusal(why: str) -> InputError:
            told = f"{path} is not a mixture density network that condgof saved: {why}."
            return InputError(f"{told} Save the model again.")

        with Path(path).open("rb") as file:
            try:
                header, held = _header(file)
                metadata = header.pop("__metadata__")
                found = metadata["format"]
            except BROKEN as error:
                raise refusal("it is not in the safetensors format") from error
            if found != FORMAT:
                raise refusal(f"its format is {found!r} and not {FORMAT!r}")
            try:
                about = json.loads(metadata["model"])
                arrays = _arrays(file, header, held)
                shifts: dict[str, Any] = {name: arrays.pop(name) for name in SHIFTS}
                sizes = [about["sizes"][name] for name in ("d_x", "d_y", "components")]
                if not all(isinstance(size, int) and size >= 1 for size in sizes):
                    raise ValueError(f"sizes {sizes}")
                names, history = about["x_names"], about["history"]
                train, validation = (tuple(history[name]) for name in ("train", "validation"))
                return MDN(
                    sizes=Sizes(*sizes),
                    state=arrays,
                    **shifts,
                    x_names=None if names is None else tuple(map(str, names)),
                    batch_size=about["batch_size"],
                    history=History(train, validation, history["best_epoch"]),
                )
            except BROKEN as error:
                raise refusal(f"it is damaged ({error})") from error

    def law(self, x: Any) -> Law:
        x = x if hasattr(x, "shape") else np.asarray(x)
        names = list(self.x_names) if self.x_names is not None and is_frame(x) else None
        if names and (missing := [name for name in names if name not in list(x.columns)]):
            raise InputError(
                f"x lacks the column {missing[0]!r}. The model was fitted on the columns "
                f"{', '.join(map(repr, names))}."
            )
        width = (1 if len(x.shape) == 1 else x.shape[1]) if names is None else len(names)
        if len(x.shape) > 2 or width != self.sizes.d_x:
            raise ShapeError(
                f"x must have {self.sizes.d_x} columns, as in the fit, got shape {tuple(x.shape)}."
            )
        return NetworkLaw(partial(self._at, names), x, len(x), self.batch_size)

    def parts(self, x: Any) -> Parts:
        """Return weights (n, C), means and standard deviations (n, C, d_y) at every row of x."""
        return Parts(*self(x)._gather(lambda law, rows: law.parts()))  # type: ignore[attr-defined]

    def mean_cov(self, x: Any) -> tuple[FloatArray, FloatArray]:
        """Return mean (n, d_y) and covariance (n, d_y, d_y)."""
        mean, cov = self(x)._gather(lambda law, rows: law.mean_cov())  # type: ignore[attr-defined]
        return mean, cov

    def _at(self, names: list[str] | None, x: Any, n: int) -> Law:
        """Evaluate the networks at one batch of rows."""
        numbers = as_numbers(x if names is None else x[names], "x").astype(np.float64)
        z = (numbers.reshape(n, self.sizes.d_x) - self.x_shift) / self.x_scale
        raw = {network: apply(layers, z) for network, layers in self._layers.items()}
        weights = raw["weights"]
        weights -= weights.max(axis=1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=1, keepdims=True)
        shape = (n, self.sizes.components, self.sizes.d_y)
        means = raw["means"].reshape(shape) * self.y_scale + self.y_shift
        stds = np.exp(0.5 * np.clip(raw["variances"].reshape(shape), *LOG_VARIANCE))
        return NormalMixture(weights, means, stds * self.y_scale)(n=n)


class NetworkLaw(Batched):
    """The law of a network, a mixture in each row."""

    @property
    def _d_y(self) -> int:
        return self.first._d_y  # type: ignore[attr-defined, no-any-return]

    def _checked(self, y: AnyArray) -> AnyArray:
        y, d_y = as_numbers(super()._checked(y), "y"), self._d_y
        if y.shape != (self.n, d_y) and not (d_y == 1 and y.shape == (self.n,)):
            raise ShapeError(f"y must have {d_y} columns, as in the fit, got shape {y.shape}.")
        return y

    def sample(self, rng: np.random.Generator) -> FloatArray:
        # All numbers at once, so that draws are the same for any batch size.
        uniform, normal = rng.random((self.n, 1)), rng.standard_normal((self.n, self._d_y))

        def turned(law: Any, rows: Any) -> Any:
            return law.turned(uniform[rows], normal[rows])

        return np.asarray(self._gather(turned))


def _header(file: BinaryIO) -> tuple[dict[str, Any], int]:
    """Return the header, and how many bytes of numbers the file has after it."""
    held = os.fstat(file.fileno()).st_size - 8
    length = int.from_bytes(file.read(8), "little")
    header = json.loads(file.read(length)) if length <= min(LONGEST_HEADER, held) else None
    if not isinstance(header, dict):
        raise ValueError("no header")
    return header, held - length


def _arrays(file: BinaryIO, header: dict[str, Any], held: int) -> dict[str, FloatArray]:
    """Read the arrays; refuse any that overlap, leave gaps, or are larger than the file, before that."""
    entries = sorted(header.items(), key=lambda item: tuple(item[1]["data_offsets"]))
    last = 0
    for _, entry in entries:
        (start, end), shape = entry["data_offsets"], entry["shape"]
        if not all(type(value) is int and value >= 0 for value in (start, end, *shape)):
            raise ValueError("an offset or a size is no whole number")
        if entry["dtype"] != "F64" or end > held:
            raise ValueError("numbers are missing")
        if end - start != 8 * math.prod(shape):
            raise ValueError("an array has another size than its shape says")
        if start != last:
            raise ValueError("arrays overlap, or leave gaps between them")
        last = end
    if last != held:
        raise ValueError("there are numbers that belong to no array")
    return {
        name: np.frombuffer(file.read(8 * math.prod(entry["shape"])), "<f8").reshape(entry["shape"])
        for name, entry in entries
    }
