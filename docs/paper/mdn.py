"""The paper's mixture density network (appendix C), trained with torch, evaluated in NumPy.

    p(y|x) = Σ_c π_c(x) N(y; μ_c(x), diag σ_c(x)²)

One network each gives π (softmax), μ and log σ². In evaluation mode a batch normalisation
is an affine map, so a trained model is a list of arrays, and scoring rows needs no torch.
Arrays have the names of torch's state dict.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

import condgof as cg
from condgof.engine import with_progress
from condgof.errors import (
    InputError,
    NumericalError,
    ShapeError,
    check_count,
    check_number,
    require,
)
from condgof.laws.fits import Fitted
from condgof.models import NormalMixture
from condgof.sample import Sample, Seed, Use, as_numbers, is_frame, take_rows

#: Outputs of the two hidden layers, each followed by a batch normalisation.
HIDDEN_WIDTHS = (128, 64)
#: For each network, whether a ReLU follows its first, second and last layer: those of the
#: means and of the variances have none after the second (tables of appendix C).
RELU_AFTER = {
    "weights": (True, True, False),
    "means": (True, False, False),
    "variances": (True, False, False),
}
#: Bounds of log σ² of the standardised y: σ stays between 1e-4 and 1e4.
LOG_VARIANCE_BOUNDS = (-18.4, 18.4)
#: Added to the variance by a batch normalisation; torch's default.
NORM_EPSILON = 1e-5
#: Arrays of a batch normalisation, in torch's names.
NORM_ARRAYS = ("weight", "bias", "running_mean", "running_var")
#: Arrays that standardise x and y, beside those of the networks.
UNITS = ("x_shift", "x_scale", "y_shift", "y_scale")
#: Format that a file declares; version 0.1 wrote the same one.
FORMAT = "condgof.models.mdn/1"
MIN_ROWS = 10
#: Validation rows whose loss is computed at a time.
VALIDATION_BATCH = 8192

import_torch = partial(require, "torch", "torch", "Training a mixture density network")


@dataclass(frozen=True)
class Layer:
    """A linear layer of one of the networks, and what follows it."""

    network: str
    number: int
    inputs: int
    outputs: int
    normalised: bool
    rectified: bool

    @property
    def linear(self) -> str:
        """Name of the linear map in the state dict."""
        return f"{self.network}.linear{self.number}"

    @property
    def norm(self) -> str:
        """Name of the batch normalisation in the state dict."""
        return f"{self.network}.norm{self.number}"


@dataclass(frozen=True)
class Sizes:
    """Numbers of columns of x and y, and of components."""

    d_x: int
    d_y: int
    components: int

    def layers(self, network: str) -> list[Layer]:
        """Return the layers of a network, in the order in which they are applied."""
        outputs = self.components if network == "weights" else self.components * self.d_y
        widths = (self.d_x, *HIDDEN_WIDTHS, outputs)
        return [
            Layer(
                network=network,
                number=i + 1,
                inputs=widths[i],
                outputs=widths[i + 1],
                normalised=i < len(HIDDEN_WIDTHS),
                rectified=rectified,
            )
            for i, rectified in enumerate(RELU_AFTER[network])
        ]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every array of a model, in the order of a file."""
        shapes: dict[str, tuple[int, ...]] = {}
        for network in RELU_AFTER:
            for layer in self.layers(network):
                shapes[f"{layer.linear}.weight"] = (layer.outputs, layer.inputs)
                shapes[f"{layer.linear}.bias"] = (layer.outputs,)
                if layer.normalised:
                    for name in NORM_ARRAYS:
                        shapes[f"{layer.norm}.{name}"] = (layer.outputs,)
        for name in UNITS:
            shapes[name] = (self.d_x if name.startswith("x") else self.d_y,)
        return shapes


@dataclass(frozen=True)
class TrainingHistory:
    """Mean negative log-likelihoods by epoch, and the epoch (from 1) of the weights."""

    train: tuple[float, ...] = ()
    validation: tuple[float, ...] = ()
    best_epoch: int = 0

    def shifted(self, constant: float) -> TrainingHistory:
        """Return the history with a constant added to every loss."""
        return replace(
            self,
            train=tuple(loss + constant for loss in self.train),
            validation=tuple(loss + constant for loss in self.validation),
        )


class Parts(NamedTuple):
    """Weights (n, C), means and standard deviations (n, C, d_y) of the rows' mixtures."""

    weights: np.ndarray
    means: np.ndarray
    stds: np.ndarray


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MDN(Fitted):
    """A trained mixture density network, in double precision; `fit_mdn` makes one.

    A frame to score must have the columns `x_names` of the frame that the network was
    fitted on, in any order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 400)
    >>> y = x + 0.1 * rng.standard_normal(400)
    >>> model = fit_mdn(x, y, components=2, epochs=30, rng=0)
    >>> model(x).score(y).shape
    (400, 1)
    """

    NAME = "MDN"

    sizes: Sizes
    #: The arrays of the networks, by their names in torch's state dict.
    state: Mapping[str, np.ndarray]
    #: The networks take (x − x_shift)/x_scale, and model (y − y_shift)/y_scale.
    x_shift: np.ndarray
    x_scale: np.ndarray
    y_shift: np.ndarray
    y_scale: np.ndarray
    x_names: tuple[str, ...] | None = None
    #: Rows that are evaluated at a time.
    batch_size: int = 4096
    history: TrainingHistory = field(default_factory=TrainingHistory)
    batched: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self.batch_size, "batch_size")

    def __repr__(self) -> str:
        return (
            f"MDN(d_x={self.sizes.d_x}, d_y={self.sizes.d_y},"
            f" components={self.sizes.components})"
        )

    def law(self, x: Any) -> MixturesByBatch:
        """Return the predictive distribution at rows of x, (n,) or (n, d_x)."""
        x = x if hasattr(x, "shape") else np.asarray(x)
        if self._by_name(x):
            missing = [name for name in self.x_names if name not in list(x.columns)]
            if missing:
                fitted = ", ".join(map(repr, self.x_names))
                raise InputError(
                    f"x lacks the column {missing[0]!r}. The model was fitted on {fitted}."
                )
            width = len(self.x_names)
        else:
            width = 1 if len(x.shape) == 1 else x.shape[1]
        if len(x.shape) > 2 or width != self.sizes.d_x:
            wanted = f"{self.sizes.d_x} columns, as in the fit"
            raise ShapeError(f"x must have {wanted}, got shape {tuple(x.shape)}.")
        return MixturesByBatch(self, x)

    def parts(self, x: Any) -> Parts:
        """Return weights (n, C), means and standard deviations (n, C, d_y) at rows of x."""
        by_batch = [mixture.parts() for _, mixture in self(x).batches()]
        return Parts(*(np.concatenate(arrays) for arrays in zip(*by_batch, strict=True)))

    def mixture(self, x: Any) -> NormalMixture:
        """Return the mixtures at rows of x, all evaluated at once."""
        columns = x[list(self.x_names)] if self._by_name(x) else x
        numbers = as_numbers(columns, "x").astype(np.float64)
        n = len(numbers)
        z = (numbers.reshape(n, self.sizes.d_x) - self.x_shift) / self.x_scale
        shape = (n, self.sizes.components, self.sizes.d_y)
        weights = softmax(self.network("weights", z), axis=1)
        means = self.network("means", z).reshape(shape)
        log_variances = self.network("variances", z).reshape(shape)
        stds = np.exp(0.5 * np.clip(log_variances, *LOG_VARIANCE_BOUNDS))
        mixture = NormalMixture(
            weights=weights,
            means=means * self.y_scale + self.y_shift,
            stds=stds * self.y_scale,
        )
        return mixture(n=n)

    def network(self, name: str, z: np.ndarray) -> np.ndarray:
        """Apply one of the networks to standardised rows (n, d_x): (n, its outputs)."""
        for layer in self.sizes.layers(name):
            z = z @ self.state[f"{layer.linear}.weight"].T
            z += self.state[f"{layer.linear}.bias"]
            if layer.normalised:
                gain, shift, mean, variance = (
                    self.state[f"{layer.norm}.{array}"] for array in NORM_ARRAYS
                )
                z -= mean
                z *= gain / np.sqrt(variance + NORM_EPSILON)
                z += shift
            if layer.rectified:
                np.maximum(z, 0.0, out=z)
        return z

    def _by_name(self, x: Any) -> bool:
        """Whether the columns of x are found by name and not by place."""
        return self.x_names is not None and is_frame(x)

    def save(self, path: str | Path) -> None:
        """Write the model to one file, in the safetensors format; see `load`.

        A file is the length of a JSON header in eight bytes, the header, and the numbers.
        Nothing in it could be run, as in a pickle.
        """
        description = {
            "sizes": asdict(self.sizes),
            "history": asdict(self.history),
            "x_names": self.x_names,
            "batch_size": self.batch_size,
        }
        metadata = {"format": FORMAT, "model": json.dumps(description)}
        header = {"__metadata__": metadata, **_header_entries(self.sizes)}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
        contents = [len(text).to_bytes(8, "little"), text]
        for name in self.sizes.shapes():
            array = getattr(self, name) if name in UNITS else self.state[name]
            contents.append(array.astype("<f8").tobytes())
        # An existing file is replaced only once the new one is complete.
        part = Path(path).with_name(f".{Path(path).name}.{os.getpid()}.part")
        try:
            part.write_bytes(b"".join(contents))
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)

    @staticmethod
    def load(path: str | Path) -> MDN:
        """Read a model that `save` wrote; nothing in the file is run."""
        data = Path(path).read_bytes()
        with _file_errors(path, "it is not in the safetensors format"):
            start = 8 + int.from_bytes(data[:8], "little")
            header = json.loads(data[8:start])
            metadata = header.pop("__metadata__")
            file_format = metadata["format"]
        wrong_format = f"its format is {file_format!r} and not {FORMAT!r}"
        with _file_errors(path, wrong_format):
            if file_format != FORMAT:
                raise ValueError(wrong_format)
        with _file_errors(path, "it is damaged"):
            description = json.loads(metadata["model"])
            sizes = Sizes(
                d_x=check_count(description["sizes"]["d_x"], "d_x"),
                d_y=check_count(description["sizes"]["d_y"], "d_y"),
                components=check_count(description["sizes"]["components"], "components"),
            )
            _check_header(header, sizes)
            arrays = _read_arrays(data, start, sizes)
            history = description["history"]
            names = description["x_names"]
            return MDN(
                sizes=sizes,
                x_shift=arrays.pop("x_shift"),
                x_scale=arrays.pop("x_scale"),
                y_shift=arrays.pop("y_shift"),
                y_scale=arrays.pop("y_scale"),
                state=arrays,
                x_names=None if names is None else tuple(names),
                batch_size=description["batch_size"],
                history=TrainingHistory(
                    train=tuple(history["train"]),
                    validation=tuple(history["validation"]),
                    best_epoch=history["best_epoch"],
                ),
            )


def _header_entries(sizes: Sizes) -> dict[str, Any]:
    """Return what the header of a file holds for every array, one behind the other."""
    entries = {}
    start = 0
    for name, shape in sizes.shapes().items():
        end = start + 8 * math.prod(shape)
        entries[name] = {"dtype": "F64", "shape": [*shape], "data_offsets": [start, end]}
        start = end
    return entries


def _check_header(header: Mapping[str, Any], sizes: Sizes) -> None:
    """Refuse a header that does not have the arrays of these sizes, and no others."""
    entries = _header_entries(sizes)
    for name in {**header, **entries}:
        if header.get(name) != entries.get(name):
            raise ValueError(
                f"{name} is {header.get(name)}, and should be {entries.get(name)}"
            )


def _read_arrays(data: bytes, start: int, sizes: Sizes) -> dict[str, np.ndarray]:
    """Read the arrays of a file, whose numbers begin at a byte `start`."""
    arrays = {}
    for name, shape in sizes.shapes().items():
        array = np.frombuffer(data, "<f8", math.prod(shape), start).reshape(shape)
        if not np.isfinite(array).all():
            raise ValueError(f"{name} has numbers that are not finite")
        arrays[name] = array
        start += array.nbytes
    if start != len(data):
        raise ValueError(f"it has {len(data)} bytes, and should have {start} and no more")
    return arrays


@contextmanager
def _file_errors(path: str | Path, why: str) -> Iterator[None]:
    """Turn what reading a foreign or damaged file raises into one error that names it."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a mixture density network that condgof saved: {why} ({error})."
            " Save the model again."
        ) from error


@dataclass(frozen=True, eq=False)
class MixturesByBatch(cg.Law):
    """The predictive distribution of a network at rows of x, evaluated batch by batch.

    Every method asks `NormalMixture` for the same thing, `model.batch_size` rows at a time,
    so that memory does not grow with the numbers of rows and components.
    """

    model: MDN
    x: Any

    @property
    def rows(self) -> int:
        return len(self.x)

    def take(self, rows: np.ndarray) -> MixturesByBatch:
        return MixturesByBatch(self.model, take_rows(self.x, rows))

    def batches(self) -> Iterator[tuple[slice, NormalMixture]]:
        """Yield which rows a batch has, and their mixtures."""
        for start in range(0, self.n, self.model.batch_size):
            rows = slice(start, min(start + self.model.batch_size, self.n))
            yield rows, self.model.mixture(take_rows(self.x, rows))

    def score(self, y: np.ndarray) -> np.ndarray:
        return self._at(y, NormalMixture.score)

    def log_prob(self, y: np.ndarray) -> np.ndarray:
        return self._at(y, NormalMixture.log_prob)

    def cdf(self, y: np.ndarray) -> np.ndarray:
        return self._at(y, NormalMixture.cdf)

    def sf(self, y: np.ndarray) -> np.ndarray:
        return self._at(y, NormalMixture.sf)

    def crps(self, y: np.ndarray) -> np.ndarray:
        return self._at(y, NormalMixture.crps)

    def normal_scores(self, y: np.ndarray) -> np.ndarray:
        return self._at(y, NormalMixture.normal_scores)

    def marginals(self, y: np.ndarray) -> tuple[np.ndarray, ...]:
        y = self._same_rows(y)
        return self._several(lambda mixture, rows: mixture.marginals(y[rows]))

    def cdf_grid(self, values: np.ndarray) -> np.ndarray:
        return self._one(lambda mixture, rows: mixture.cdf_grid(values))

    def quantile(self, levels: object) -> np.ndarray:
        return self._one(lambda mixture, rows: mixture.quantile(levels))

    def mean_std(self) -> tuple[np.ndarray, ...]:
        return self._several(lambda mixture, rows: mixture.mean_std())

    def location_scale(self) -> tuple[np.ndarray, ...]:
        return self._several(lambda mixture, rows: mixture.location_scale())

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        # Random numbers are drawn at once: draws are the same for any batch size.
        uniform = rng.random((self.n, 1))
        normal = rng.standard_normal((self.n, self.model.sizes.d_y))
        return self._one(
            lambda mixture, rows: draw_mixture(mixture.parts(), uniform[rows], normal[rows])
        )

    def _at(self, y: np.ndarray, ask: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
        y = self._same_rows(y)
        return self._one(lambda mixture, rows: ask(mixture, y[rows]))

    def _one(self, ask: Callable[[NormalMixture, slice], np.ndarray]) -> np.ndarray:
        (whole,) = self._several(lambda mixture, rows: (ask(mixture, rows),))
        return whole

    def _several(
        self, ask: Callable[[NormalMixture, slice], tuple[np.ndarray, ...]]
    ) -> tuple[np.ndarray, ...]:
        """Ask every batch for arrays with a row for each of its rows, and join them."""
        joined: tuple[np.ndarray, ...] = ()
        for rows, mixture in self.batches():
            arrays = ask(mixture, rows)
            if not joined:
                joined = tuple(np.empty((self.n, *array.shape[1:])) for array in arrays)
            for whole, array in zip(joined, arrays, strict=True):
                whole[rows] = array
        return joined

    def _same_rows(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y)
        if len(y) != self.n:
            raise ShapeError(
                f"y has {len(y)} rows, and the law of {self.name} has {self.n}."
            )
        return y


def draw_mixture(parts: Parts, uniform: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Turn uniform (n, 1) and standard normal (n, d_y) numbers into draws, (n, d_y)."""
    component = (uniform > parts.weights.cumsum(axis=1)[:, :-1]).sum(axis=1)
    rows = np.arange(len(component))
    return parts.means[rows, component] + parts.stds[rows, component] * normal


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
    rng: Any = 0,
    device: object = "cpu",
    progress: bool = True,
) -> MDN:
    """Fit a mixture density network by maximum likelihood; needs torch.

    x and y are standardised inside. Test the model on rows that it was not fitted on.

    Parameters
    ----------
    x, y : array_like or frame of shape (n,) or (n, d), all numeric
        Covariates and responses.
    components : int
        Number of Gaussians, C.
    epochs : int
        Passes over the training rows, at most.
    batch_size : int
        Rows of a minibatch, about.
    learning_rate : float
        Step size of Adam.
    validation_fraction : float
        Share of the rows, chosen at random, that is set aside: the model has the weights of
        the epoch whose loss was lowest on them. 0 trains on all rows for all epochs.
    patience : int
        Training stops after this many epochs without a lower validation loss.
    rng : int, numpy.random.Generator or None
        For starting values, validation rows and minibatches; torch's own generators are
        left alone.
    device : str or torch.device
        Where to train.
    progress : bool
        Whether to show a bar with the loss (with tqdm, on a terminal).

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
    check_count(components, "components")
    training = Training(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        patience=patience,
        device=device,
        progress=progress,
    )
    check_number(
        validation_fraction,
        "validation_fraction",
        "0 to 0.9",
        lambda fraction: 0 <= fraction <= 0.9,
    )
    sample = Sample.from_data(x, y, to_test=False)
    _check_sample(sample)
    seed = Seed.of(rng)
    order = seed.stream(Use.SPLIT).permutation(sample.n)
    validation_rows = math.ceil(validation_fraction * sample.n)
    held = np.sort(order[:validation_rows])
    train = np.sort(order[validation_rows:])
    x_shift, x_scale = _shift_and_scale(sample.x[train])
    y_shift, y_scale = _shift_and_scale(sample.y[train])
    z_x = (sample.x - x_shift) / x_scale
    z_y = (sample.y - y_shift) / y_scale
    sizes = Sizes(d_x=sample.d_x, d_y=sample.d_y, components=components)
    networks = build_networks(sizes, seed.stream(Use.STARTS))
    history = training.run(
        networks,
        train=training.tensors(z_x[train], z_y[train]),
        held=training.tensors(z_x[held], z_y[held]),
        seed=seed,
    )
    trained = networks.state_dict()
    return MDN(
        sizes=sizes,
        state={
            name: tensor.cpu().double().numpy()
            for name, tensor in trained.items()
            if not name.endswith("num_batches_tracked")
        },
        x_shift=x_shift,
        x_scale=x_scale,
        y_shift=y_shift,
        y_scale=y_scale,
        x_names=tuple(map(str, x.columns)) if is_frame(x) else None,
        # From the density of the standardised y to that of y.
        history=history.shifted(float(np.log(y_scale).sum())),
    )


def _check_sample(sample: Sample) -> None:
    if sample.n < MIN_ROWS:
        raise ShapeError(f"A network needs at least {MIN_ROWS} rows, got {sample.n}.")
    text = [column.name for column in sample.x_columns if column.categorical]
    if text:
        raise InputError(f"x column {text[0]!r} holds text. Turn it into numbers first.")
    constant = [column.name for column in sample.y_columns if column.constant]
    if constant:
        raise InputError(
            f"y is constant (column {constant[0]!r}), so there is no density to fit."
        )


def _shift_and_scale(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation by column; a constant column keeps its units."""
    std = values.std(axis=0)
    return values.mean(axis=0), np.where(std > 0, std, 1.0)


class Tensors(NamedTuple):
    """Standardised rows as torch has them: x (n, d_x) and y (n, d_y), single precision."""

    x: Any
    y: Any


@dataclass(frozen=True, kw_only=True)
class Training:
    """How networks are trained; the parameters are those of `fit_mdn`."""

    epochs: int
    batch_size: int
    learning_rate: float
    patience: int
    device: Any
    progress: bool

    def __post_init__(self) -> None:
        check_count(self.epochs, "epochs")
        check_count(self.batch_size, "batch_size")
        check_count(self.patience, "patience")
        if self.batch_size < 2:  # a batch normalisation needs two rows
            raise InputError(f"batch_size must be at least 2, got {self.batch_size}.")
        check_number(
            self.learning_rate,
            "learning_rate",
            "positive",
            lambda rate: 0 < rate < math.inf,
        )

    def tensors(self, x: np.ndarray, y: np.ndarray) -> Tensors:
        torch = import_torch()
        options = {"device": self.device, "dtype": torch.float32}
        return Tensors(torch.from_numpy(x).to(**options), torch.from_numpy(y).to(**options))

    def run(
        self, networks: Any, train: Tensors, held: Tensors, seed: Seed
    ) -> TrainingHistory:
        """Train the networks in place; they end with the weights of the best epoch."""
        torch = import_torch()
        networks.to(self.device)
        optimizer = torch.optim.Adam(networks.parameters(), lr=self.learning_rate)
        losses: list[float] = []
        held_losses: list[float] = []
        best_epoch = 0
        best_state = None

        def describe() -> str:
            text = f"loss {losses[-1]:.4f}"
            return text + (f", validation {held_losses[-1]:.4f}" if held_losses else "")

        epochs: Iterable[int] = range(1, self.epochs + 1)
        if self.progress:
            epochs = with_progress(epochs, self.epochs, "training", describe)
        with torch.enable_grad():
            for epoch in epochs:
                order = seed.stream(Use.SPLIT, epoch).permutation(len(train.x))
                losses.append(self._run_epoch(networks, optimizer, train, order))
                if not len(held.x):
                    best_epoch = epoch
                    continue
                held_losses.append(_evaluate(networks, held))
                if best_state is None or held_losses[-1] < held_losses[best_epoch - 1]:
                    best_epoch = epoch
                    best_state = _copy_state(networks)
                if epoch - best_epoch >= self.patience:
                    break
        if best_state is not None:
            networks.load_state_dict(best_state)
        return TrainingHistory(tuple(losses), tuple(held_losses), best_epoch)

    def _run_epoch(
        self, networks: Any, optimizer: Any, train: Tensors, order: np.ndarray
    ) -> float:
        """Take a step for each minibatch of rows in this order; return the mean loss."""
        torch = import_torch()
        networks.train()
        rows = torch.from_numpy(order).to(self.device)
        # Minibatches are about equal: a last one of a single row could not be normalised.
        minibatches = max(1, round(len(order) / self.batch_size))
        total = 0.0
        for part in rows.tensor_split(minibatches):
            optimizer.zero_grad(set_to_none=True)
            loss = mean_nll(networks, train.x[part], train.y[part])
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(part)
        if not math.isfinite(total):
            raise NumericalError(
                "The loss is not finite. Lower learning_rate, or drop outliers."
            )
        return total / len(order)


def _evaluate(networks: Any, held: Tensors) -> float:
    """Return the mean loss on validation rows, in evaluation mode."""
    torch = import_torch()
    networks.eval()
    batches = zip(
        held.x.split(VALIDATION_BATCH), held.y.split(VALIDATION_BATCH), strict=True
    )
    with torch.no_grad():
        total = sum(float(mean_nll(networks, x, y)) * len(x) for x, y in batches)
    return total / len(held.x)


def _copy_state(networks: Any) -> dict[str, Any]:
    return {name: tensor.detach().clone() for name, tensor in networks.state_dict().items()}


def build_networks(sizes: Sizes, rng: np.random.Generator) -> Any:
    """Return the networks in single precision, with starting values from `rng`.

    As in torch, weights and biases of a linear layer start uniform between ±1/√inputs.
    """
    torch = import_torch()
    nn = torch.nn
    options = {"dtype": torch.float32, "device": "cpu"}
    networks = nn.ModuleDict({network: nn.Sequential() for network in RELU_AFTER})
    # The constructors draw starting values of their own from torch's generator.
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        for network, module in networks.items():
            for layer in sizes.layers(network):
                linear = nn.Linear(layer.inputs, layer.outputs, **options)
                bound = 1.0 / np.sqrt(layer.inputs)
                for values in (linear.weight, linear.bias):
                    start = rng.uniform(-bound, bound, tuple(values.shape))
                    values.copy_(torch.from_numpy(start))
                module.add_module(f"linear{layer.number}", linear)
                if layer.normalised:
                    norm = nn.BatchNorm1d(layer.outputs, eps=NORM_EPSILON, **options)
                    module.add_module(f"norm{layer.number}", norm)
                if layer.rectified:
                    module.add_module(f"relu{layer.number}", nn.ReLU())
    return networks


def mean_nll(networks: Any, x: Any, y: Any) -> Any:
    """Return −(1/n) Σ log p(y|x) of standardised tensors, as a tensor ()."""
    torch = import_torch()
    log_weights = torch.log_softmax(networks["weights"](x), dim=1)
    shape = (len(x), -1, y.shape[1])
    means = networks["means"](x).reshape(shape)
    log_variances = networks["variances"](x).reshape(shape).clamp(*LOG_VARIANCE_BOUNDS)
    square = (y[:, None, :] - means) ** 2 * torch.exp(-log_variances)
    log_normal = -0.5 * (square + log_variances + np.log(2.0 * np.pi)).sum(dim=2)
    return -torch.logsumexp(log_weights + log_normal, dim=1).mean()
