"""The fitted network: its arrays, what they compute, the law that they give, and its file.

The names of the arrays are those of torch's state dict, ``network.layer.array``. A file is in the
safetensors format: eight bytes with the length of a JSON header, the header, then the numbers, and so
nothing that could be run. NumPy alone reads and writes it, so that a file does not depend on what is
installed; other programs can open it with the safetensors library.
"""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np

from condgof._typing import AnyArray, FloatArray
from condgof.engine import with_progress
from condgof.errors import InputError, NumericalError, ShapeError, require
from condgof.laws._families import NormalMixture, Parts
from condgof.laws._law import Batched, Law
from condgof.laws.fits import Fitted
from condgof.sample import RngLike, Sample, Seed, Use, as_numbers, is_frame

__all__ = ["MDN", "fit_mdn", "to_torch"]

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
FEWEST_ROWS = 10
#: Imports torch, or says how to install it.
import_torch = partial(require, "torch", "torch", "Training a mixture density network")


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
    """Return each network's layers as (matrix, bias, rectified), batch normalisation folded in."""
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
class TrainingHistory:
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
    history : TrainingHistory
        How training went.

    Examples
    --------
    >>> import condgof as cg
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 400)
    >>> y = x + 0.1 * rng.standard_normal(400)
    >>> model = cg.models.mdn.fit_mdn(x, y, components=2, epochs=30, rng=0)
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
    history: TrainingHistory = field(default_factory=TrainingHistory)
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
                written = metadata["format"]
            except BROKEN as error:
                raise refusal("it is not in the safetensors format") from error
            if written != FORMAT:
                raise refusal(f"its format is {written!r} and not {FORMAT!r}")
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
                    history=TrainingHistory(train, validation, history["best_epoch"]),
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
        return MixturesByBatch(partial(self._at, names), x, len(x), self.batch_size)

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


class MixturesByBatch(Batched):
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


def fit_mdn(
    x: Any,
    y: Any,
    *,
    components: int = 20,
    epochs: int = 200,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    validation_fraction: float = 0.1,
    patience: int = 20,
    rng: RngLike = 0,
    device: Any = "cpu",
    progress: bool = True,
) -> MDN:
    """Fit a mixture density network by maximum likelihood.

    The model is p(y|x) = Σ_c π_c(x) N(y; μ_c(x), diag σ_c(x)²). The networks are those of the paper's
    appendix C: for each of π, μ and σ² linear layers of width 128 and 64 with batch normalisation and
    ReLU (none behind the second layer of μ and σ²), then a softmax for π and an exponential for σ². x
    and y are standardised inside. Needs torch. The model's ``history`` says how training went. Test it
    on rows that it was not fitted on.

    Parameters
    ----------
    x, y : array_like or frame of shape (n,) or (n, d)
        Covariates and responses, all numeric.
    components : int
        Number of Gaussians, C.
    epochs, batch_size : int
        Passes over the training rows, at most, and rows of a minibatch, about (all minibatches of an
        epoch are of the same size, up to a row).
    learning_rate : float
        Step size of Adam.
    validation_fraction : float
        Share of the rows, chosen at random, that is set aside to tell when to stop: the model has the
        weights of the epoch whose loss was lowest there. 0 trains on all rows for all epochs.
    patience : int
        Epochs without a lower validation loss after which training stops.
    rng : int, numpy.random.Generator or None
        Starting values, the validation rows and minibatches come from it; torch's own generators,
        default type and threads are left alone. The same rng gives the same model on one machine.
    device : str or torch.device
        Where to train. The fitted model is plain NumPy on the CPU.
    progress : bool
        Whether to show a bar with the loss where standard error is a terminal and tqdm is there.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 500)
    >>> y = np.where(rng.random(500) < 0.5, x, -x) + 0.1 * rng.standard_normal(500)
    >>> model = fit_mdn(x, y, components=4, epochs=10, rng=0)
    >>> model
    MDN(d_x=1, d_y=1, components=4)
    >>> model.parts(np.array([0.0])).weights.shape
    (1, 4)
    """
    counts = {"components": components, "epochs": epochs}
    counts |= {"batch_size": batch_size, "patience": patience}
    _check_options(counts, learning_rate, validation_fraction)
    sample, seed = Sample.of(x, y, to_test=False), Seed.of(rng)
    sizes = Sizes(sample.d_x, sample.d_y, operator.index(components))
    _check_sample(sample)
    order, size = seed.stream(Use.SPLIT).permutation(sample.n), math.ceil(validation_fraction * sample.n)
    train, held = np.sort(order[size:]), np.sort(order[:size])
    x_shift, x_scale = _standard(sample.x[train])
    y_shift, y_scale = _standard(sample.y[train])
    z_x, z_y = (sample.x - x_shift) / x_scale, (sample.y - y_shift) / y_scale
    networks = build_networks(sizes, seed.stream(Use.STARTS))
    data = (z_x[train], z_y[train], z_x[held], z_y[held])
    losses, held_losses, best = _train(
        networks, data, seed, epochs=epochs, batch_size=batch_size, learning_rate=learning_rate,
        patience=patience, device=device, progress=progress,
    )  # fmt: skip
    shift = float(np.log(y_scale).sum())  # from the loss of standardised y to that of y
    return MDN(
        sizes=sizes,
        state={k: v.cpu().double().numpy() for k, v in networks.state_dict().items()},
        x_shift=x_shift,
        x_scale=x_scale,
        y_shift=y_shift,
        y_scale=y_scale,
        x_names=tuple(map(str, x.columns)) if is_frame(x) else None,
        history=TrainingHistory(
            tuple(loss + shift for loss in losses), tuple(loss + shift for loss in held_losses), best
        ),
    )


def _train(
    networks: Any, data: Iterable[FloatArray], seed: Seed, *, epochs: int, batch_size: int,
    learning_rate: float, patience: int, device: Any, progress: bool,
) -> tuple[list[float], list[float], int]:  # fmt: skip
    """Train the networks in place; return the losses, and the epoch whose weights they end with."""
    torch = import_torch()
    networks.to(device)
    single = {"device": device, "dtype": torch.float32}
    x, y, x_held, y_held = (torch.from_numpy(array).to(**single) for array in data)
    optimizer = torch.optim.Adam(networks.parameters(), lr=learning_rate)
    losses: list[float] = []
    held_losses: list[float] = []
    best, best_state = 0, None

    def say() -> str:
        return f"loss {losses[-1]:.4f}" + (f", validation {held_losses[-1]:.4f}" if held_losses else "")

    numbers: Iterable[int] = range(1, epochs + 1)
    with torch.enable_grad():
        for epoch in with_progress(numbers, epochs, "training", say) if progress else numbers:
            rows = torch.from_numpy(seed.stream(Use.SPLIT, epoch).permutation(len(x)))
            losses.append(_one_epoch(networks, optimizer, x, y, rows.to(device), batch_size))
            if not len(x_held):
                best = epoch
                continue
            held_losses.append(_loss(networks, x_held, y_held))
            if best_state is None or held_losses[-1] < held_losses[best - 1]:
                best = epoch
                best_state = {k: v.detach().clone() for k, v in networks.state_dict().items()}
            if epoch - best >= patience:
                break
    if best_state is not None:
        networks.load_state_dict(best_state)
    return losses, held_losses, best


def _one_epoch(networks: Any, optimizer: Any, x: Any, y: Any, order: Any, batch_size: int) -> float:
    """Take one step for each minibatch, and return the mean loss of the epoch."""
    networks.train()
    total = 0.0
    # Equal minibatches: a last one of a single row could not be normalised.
    for rows in order.tensor_split(max(1, round(len(order) / batch_size))):
        optimizer.zero_grad(set_to_none=True)
        loss = mean_nll(networks, x[rows], y[rows])
        loss.backward()
        optimizer.step()
        total += float(loss.detach()) * len(rows)
    if not math.isfinite(total):
        raise NumericalError("The loss is not finite. Lower learning_rate, or drop outliers of x and y.")
    return total / len(order)


def _loss(networks: Any, x: Any, y: Any) -> float:
    torch = import_torch()
    networks.eval()
    with torch.no_grad():
        parts = zip(x.split(8192), y.split(8192), strict=True)
        total = sum(float(mean_nll(networks, a, b)) * len(a) for a, b in parts)
    return total / len(x)


def _standard(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of each column; a constant column is left in its units."""
    mean, std = values.mean(axis=0), values.std(axis=0)
    return mean, np.where(std > 0, std, 1.0)


def _check_options(numbers: Mapping[str, Any], rate: float, share: float) -> None:
    for name, value in numbers.items():
        least = 2 if name == "batch_size" else 1
        try:
            number = operator.index(value)
        except TypeError as error:
            raise InputError(f"{name} must be an integer, got {value!r}.") from error
        if number < least:
            raise InputError(f"{name} must be at least {least}, got {number}.")
    if not 0 < rate < math.inf:
        raise InputError(f"learning_rate must be positive, got {rate!r}.")
    if not 0 <= share <= 0.9:
        raise InputError(f"validation_fraction must be 0 to 0.9, got {share!r}.")


def _check_sample(sample: Sample) -> None:
    if sample.n < FEWEST_ROWS:
        raise ShapeError(f"A network needs at least {FEWEST_ROWS} rows, got {sample.n}.")
    text = [column.name for column in sample.x_columns if column.categorical]
    if text:
        raise InputError(f"x column {text[0]!r} holds text. Turn it into numbers (0 and 1) first.")
    constant = [column.name for column in sample.y_columns if column.constant]
    if constant:
        raise InputError(f"y is constant (column {constant[0]!r}), so there is no density to fit.")


def build_networks(sizes: Sizes, rng: np.random.Generator) -> Any:
    """Return the networks in single precision, started by torch's rule with numbers from `rng`."""
    torch = import_torch()
    nn, options = torch.nn, {"dtype": torch.float32, "device": "cpu"}
    module = nn.ModuleDict({network: nn.Sequential() for network in NETWORKS})
    with torch.random.fork_rng(devices=[]), torch.no_grad():  # the constructors draw starting values
        for layer in sizes.layers():
            linear = nn.Linear(layer.inputs, layer.outputs, **options)
            bound = 1.0 / np.sqrt(layer.inputs)
            for values in (linear.weight, linear.bias):
                values.copy_(torch.from_numpy(rng.uniform(-bound, bound, tuple(values.shape))))
            net = module[layer.network]
            net.add_module(layer.linear, linear)
            if layer.norm:
                net.add_module(layer.norm, nn.BatchNorm1d(layer.outputs, eps=EPSILON, **options))
            if layer.relu:
                net.add_module(layer.relu, nn.ReLU())
    return module


def mean_nll(networks: Any, x: Any, y: Any) -> Any:
    """Return −(1/n) Σ log p(y|x) of standardised tensors, by log-sum-exp over the components."""
    torch = import_torch()
    log_weights = torch.log_softmax(networks["weights"](x), dim=1)
    means, log_variances = (
        networks[k](x).reshape(len(x), -1, y.shape[1]) for k in ("means", "variances")
    )
    log_variances = log_variances.clamp(*LOG_VARIANCE)
    square = (y[:, None, :] - means) ** 2 * torch.exp(-log_variances)
    log_normal = -0.5 * (square + log_variances + np.log(2.0 * np.pi)).sum(dim=2)
    return -torch.logsumexp(log_weights + log_normal, dim=1).mean()


def to_torch(model: MDN) -> Any:
    """Return the networks of a fitted model as a torch module, in eval mode and double precision.

    It is a ``torch.nn.ModuleDict`` with the entries "weights", "means" and "variances", which take and
    give *standardised* numbers; the model's ``x_shift``, ``x_scale``, ``y_shift`` and ``y_scale`` say
    how. Changing the module does not change the model.
    """
    torch = import_torch()
    networks = build_networks(model.sizes, np.random.default_rng(0)).double()
    state = {name: torch.from_numpy(np.array(array)) for name, array in model.state.items()}
    missing, unexpected = networks.load_state_dict(state, strict=False)
    assert not unexpected
    assert all(name.endswith("num_batches_tracked") for name in missing)
    return networks.eval()


def __dir__() -> list[str]:
    """Name what is public."""
    return __all__
