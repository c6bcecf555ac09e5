"""Mixture density networks: trained with torch, and from then on plain NumPy.

Arrays have the names of torch's state dict. A file is in the safetensors format: the length
of a JSON header in eight bytes, the header, then the numbers; so nothing in it could be
run.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from condgof._typing import FloatArray, TableLike
from condgof.engine import with_progress
from condgof.errors import (
    InputError,
    NumericalError,
    ShapeError,
    check_count,
    check_number,
    require,
)
from condgof.laws._families import NormalMixture, Parts
from condgof.laws._law import Batched, Law, same_as
from condgof.laws.fits import Fitted
from condgof.sample import RngLike, Sample, Seed, Use, as_numbers, is_frame

__all__ = ["MDN", "fit_mdn"]
__dir__ = __all__.copy

#: Widths of the hidden layers, which a batch normalisation follows (paper, appendix C).
HIDDEN = (128, 64)
#: The networks, and which layers a ReLU follows: in the paper's tables, not the second of
#: the last two.
NETWORKS = {"weights": (True, True, False), "means": (True, False, False)}
NETWORKS["variances"] = NETWORKS["means"]
#: log σ² is kept within these, in units of the standardised y: σ between 1e-4 and 1e4.
LOG_VARIANCE = (-18.4, 18.4)
#: What a batch normalisation adds to the variance, and its arrays, as torch calls them.
EPSILON, NORM = 1e-5, ("weight", "bias", "running_mean", "running_var")
#: What a file says that it is, as those of 0.1 do.
FORMAT = "condgof.models.mdn/1"
#: Arrays of a model beside those of its networks.
SHIFTS = ("x_shift", "x_scale", "y_shift", "y_scale")
FEWEST_ROWS = 10
import_torch = partial(require, "torch", "torch", "Training a mixture density network")


@dataclass(frozen=True)
class Sizes:
    """Numbers of columns of x and y, and of components."""

    d_x: int
    d_y: int
    components: int

    def layers(self) -> Iterator[tuple[str, str, int, int, bool, bool]]:
        """Yield network, name, inputs and outputs of each layer, and if a norm and a ReLU follow."""
        for network, rectified in NETWORKS.items():
            widths = (
                self.d_x,
                *HIDDEN,
                self.components * (1 if network == "weights" else self.d_y),
            )
            for i, relu in enumerate(rectified):
                yield network, f"{i + 1}", widths[i], widths[i + 1], i < len(HIDDEN), relu

    def shapes(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the name and shape of every array of a model."""
        for network, number, inputs, outputs, norm, _ in self.layers():
            yield f"{network}.linear{number}.weight", (outputs, inputs)
            yield f"{network}.linear{number}.bias", (outputs,)
            yield from (
                (f"{network}.norm{number}.{name}", (outputs,)) for name in NORM if norm
            )
        yield from (
            (name, (self.d_x if name.startswith("x") else self.d_y,)) for name in SHIFTS
        )

    def entries(self) -> dict[str, Any]:
        """Return what the header of a file says of every array, one behind the other."""
        entries, start = {}, 0
        for name, shape in self.shapes():
            end = start + 8 * math.prod(shape)
            entries[name] = {
                "dtype": "F64",
                "shape": [*shape],
                "data_offsets": [start, end],
            }
            start = end
        return entries


@dataclass(frozen=True)
class TrainingHistory:
    """Mean negative log-likelihoods of each epoch, and the epoch (from 1) that the weights are of."""

    train: tuple[float, ...] = ()
    validation: tuple[float, ...] = ()
    best_epoch: int = 0


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MDN(Fitted):
    """Mixture density network, p(y|x) = Σ_c π_c(x) N(y; μ_c(x), diag σ_c(x)²).

    `fit_mdn` makes one, with torch; it is plain NumPy, in double precision, and needs torch
    no more. A frame to score must have the columns `x_names` of the one it was fitted on,
    in any order.

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
    #: The arrays of the networks, named as in torch's state dict.
    state: Mapping[str, FloatArray]
    #: The networks see (x − x_shift)/x_scale; what they give is of (y − y_shift)/y_scale.
    x_shift: FloatArray
    x_scale: FloatArray
    y_shift: FloatArray
    y_scale: FloatArray
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

    def save(self, path: str | Path) -> None:
        """Write the model to one file, in the safetensors format (no pickle); see `load`."""
        arrays = {**self.state, **{name: getattr(self, name) for name in SHIFTS}}
        entries = self.sizes.entries()
        about: dict[str, Any] = {
            "sizes": asdict(self.sizes),
            "history": asdict(self.history),
        }
        about |= {"x_names": self.x_names, "batch_size": self.batch_size}
        metadata = {"format": FORMAT, "model": json.dumps(about)}
        text = json.dumps({"__metadata__": metadata, **entries}).encode()
        text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of 8
        numbers = (arrays[name].astype("<f8").tobytes() for name in entries)
        # A file that is there is replaced once the new one is complete.
        part = Path(path).with_name(f".{Path(path).name}.{os.getpid()}.part")
        try:
            part.write_bytes(b"".join((len(text).to_bytes(8, "little"), text, *numbers)))
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)

    @staticmethod
    def load(path: str | Path) -> MDN:
        """Read a model that `save` wrote; nothing in it is run."""
        data, why = Path(path).read_bytes(), "it is not in the safetensors format"
        try:
            start = 8 + int.from_bytes(data[:8], "little")
            header = json.loads(data[8:start])
            metadata = header.pop("__metadata__")
            why = f"its format is {metadata['format']!r} and not {FORMAT!r}"
            if metadata["format"] != FORMAT:
                raise ValueError(why)
            why, about = (
                "it is damaged",
                json.loads(metadata["model"], object_hook=_with_tuples),
            )
            sizes = Sizes(
                **{
                    name: check_count(size, name)
                    for name, size in about.pop("sizes").items()
                }
            )
            history, entries = TrainingHistory(**about.pop("history")), sizes.entries()
            for name in {**header, **entries}:
                if header.get(name) != entries.get(name):
                    raise ValueError(
                        f"{name} is {header.get(name)}, and should be {entries.get(name)}"
                    )
            arrays: dict[str, Any] = {}
            for name, shape in sizes.shapes():
                arrays[name] = np.frombuffer(data, "<f8", math.prod(shape), start).reshape(
                    shape
                )
                if not np.isfinite(arrays[name]).all():
                    raise ValueError(f"{name} has numbers that are not finite")
                start += arrays[name].nbytes
            if start != len(data):
                raise ValueError(
                    f"it has {len(data)} bytes, and should have {start} and no more"
                )
            shifts = {name: arrays.pop(name) for name in SHIFTS}
            return MDN(sizes=sizes, state=arrays, history=history, **shifts, **about)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            saved = f"{path} is not a mixture density network that condgof saved"
            raise InputError(f"{saved}: {why} ({error}). Save the model again.") from error

    def law(self, x: Any) -> Law:
        x = x if hasattr(x, "shape") else np.asarray(x)
        names = list(self.x_names) if self.x_names is not None and is_frame(x) else None
        if names and (missing := [name for name in names if name not in list(x.columns)]):
            fitted = ", ".join(map(repr, names))
            raise InputError(
                f"x lacks the column {missing[0]!r}. The model was fitted on {fitted}."
            )
        width = (1 if len(x.shape) == 1 else x.shape[1]) if names is None else len(names)
        if len(x.shape) > 2 or width != self.sizes.d_x:
            wanted = f"{self.sizes.d_x} columns, as in the fit"
            raise ShapeError(f"x must have {wanted}, got shape {tuple(x.shape)}.")
        return MixturesByBatch(partial(self._at, names), x, len(x), self.batch_size)

    def parts(self, x: TableLike) -> Parts:
        """Return weights (n, C), means and standard deviations (n, C, d_y) at every row of x."""
        return Parts(*self(x)._gather(lambda law, rows: law.parts()))  # type: ignore[attr-defined]

    def mean_cov(self, x: TableLike) -> tuple[FloatArray, FloatArray]:
        """Return mean (n, d_y) and covariance (n, d_y, d_y)."""
        return self(x)._gather(lambda law, rows: law.mean_cov())  # type: ignore[attr-defined, no-any-return]

    def network(self, name: str, z: FloatArray) -> FloatArray:
        """Return what one of `NETWORKS` gives for standardised rows (n, d_x): (n, its last width)."""
        for _, number, _, _, norm, relu in (
            layer for layer in self.sizes.layers() if layer[0] == name
        ):
            weight, bias = (
                self.state[f"{name}.linear{number}.{part}"] for part in NORM[:2]
            )
            z = z @ weight.T
            z += bias
            if norm:
                gain, shift, mean, var = (
                    self.state[f"{name}.norm{number}.{part}"] for part in NORM
                )
                z -= mean
                z *= gain / np.sqrt(var + EPSILON)
                z += shift
            z = np.maximum(z, 0.0, out=z) if relu else z
        return z

    def _at(self, names: list[str] | None, x: Any, n: int) -> Law:
        numbers = as_numbers(x if names is None else x[names], "x").astype(np.float64)
        z = (numbers.reshape(n, self.sizes.d_x) - self.x_shift) / self.x_scale
        weights, means, log_variances = (self.network(name, z) for name in NETWORKS)
        shape = (n, self.sizes.components, self.sizes.d_y)
        means = means.reshape(shape) * self.y_scale + self.y_shift
        stds = np.exp(0.5 * np.clip(log_variances.reshape(shape), *LOG_VARIANCE))
        return NormalMixture(softmax(weights, axis=1), means, stds * self.y_scale)(n=n)


def _with_tuples(read: dict[str, Any]) -> dict[str, Any]:
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in read.items()
    }


class MixturesByBatch(Batched):
    """The law of a network, a mixture in each row."""

    d_y = same_as("first._d_y")

    def sample(self, rng: np.random.Generator) -> FloatArray:
        # All numbers at once, so that draws are the same for any batch size.
        uniform, normal = rng.random((self.n, 1)), rng.standard_normal((self.n, self.d_y))
        return self._gather(lambda law, rows: law.turned(uniform[rows], normal[rows]))  # type: ignore[attr-defined, no-any-return]


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
    device: object = "cpu",
    progress: bool = True,
) -> MDN:
    """Fit a mixture density network by maximum likelihood.

    The networks of p(y|x) = Σ_c π_c(x) N(y; μ_c(x), diag σ_c(x)²) are those of the paper's
    appendix C: for each of π, μ and σ² linear layers of width 128 and 64 with batch
    normalisation and ReLU (none behind the second layer of μ and σ²), then a softmax for π
    and an exponential for σ². x and y are standardised inside. Needs torch. Test the model
    on rows that it was not fitted on.

    Parameters
    ----------
    x, y, components : array_like or frame of shape (n,) or (n, d), all numeric; int
        Covariates and responses; number of Gaussians, C.
    epochs, batch_size, learning_rate : int, int, float
        Passes over the training rows, at most; rows of a minibatch, about; step size of
        Adam.
    validation_fraction, patience : float, int
        Share of the rows, chosen at random, that is set aside: the model has the weights of
        the epoch whose loss was lowest there, and training stops after so many epochs
        without a lower one. 0 trains on all rows for all epochs.
    rng : int, numpy.random.Generator or None
        For starting values, validation rows and minibatches; torch's own generators are
        left alone.
    device, progress : str or torch.device, bool
        Where to train; whether to show a bar with the loss (with tqdm, on a terminal).

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
    components, epochs = (
        check_count(components, "components"),
        check_count(epochs, "epochs"),
    )
    batch_size, patience = (
        check_count(batch_size, "batch_size"),
        check_count(patience, "patience"),
    )
    if batch_size < 2:  # a single row cannot be normalised
        raise InputError(f"batch_size must be at least 2, got {batch_size}.")
    check_number(
        learning_rate, "learning_rate", "positive", lambda rate: 0 < rate < math.inf
    )
    check_number(
        validation_fraction,
        "validation_fraction",
        "0 to 0.9",
        lambda part: 0 <= part <= 0.9,
    )
    sample, seed = Sample.of(x, y, to_test=False), Seed.of(rng)
    if sample.n < FEWEST_ROWS:
        raise ShapeError(f"A network needs at least {FEWEST_ROWS} rows, got {sample.n}.")
    if text := [column.name for column in sample.x_columns if column.categorical]:
        raise InputError(f"x column {text[0]!r} holds text. Turn it into numbers first.")
    if constant := [column.name for column in sample.y_columns if column.constant]:
        raise InputError(
            f"y is constant (column {constant[0]!r}), so there is no density to fit."
        )
    order, size = (
        seed.stream(Use.SPLIT).permutation(sample.n),
        math.ceil(validation_fraction * sample.n),
    )
    train, held = np.sort(order[size:]), np.sort(order[:size])
    units: dict[str, Any] = {}
    standardised = []
    for name, values in (("x", sample.x), ("y", sample.y)):
        shift, std = values[train].mean(axis=0), values[train].std(axis=0)
        scale = np.where(std > 0, std, 1.0)  # a constant column is left in its units
        units |= {f"{name}_shift": shift, f"{name}_scale": scale}
        standardised.append((values - shift) / scale)
    sizes = Sizes(sample.d_x, sample.d_y, components)
    networks = build_networks(sizes, seed.stream(Use.STARTS))
    losses, held_losses, best = _train(
        networks, [part[rows] for rows in (train, held) for part in standardised], seed, epochs=epochs,
        batch_size=batch_size, rate=learning_rate, patience=patience, device=device, progress=progress,
    )  # fmt: skip
    shift = float(
        np.log(units["y_scale"]).sum()
    )  # from the loss of standardised y to that of y
    train_losses, validation = (
        tuple(loss + shift for loss in each) for each in (losses, held_losses)
    )
    history = TrainingHistory(train_losses, validation, best)
    trained = networks.state_dict()
    state = {
        k: trained[k].cpu().double().numpy() for k in trained if "num_batches" not in k
    }
    names = tuple(map(str, x.columns)) if is_frame(x) else None
    return MDN(sizes=sizes, state=state, **units, x_names=names, history=history)


def _train(
    networks: Any, data: Iterable[FloatArray], seed: Seed, *, epochs: int, batch_size: int,
    rate: float, patience: int, device: Any, progress: bool,
) -> tuple[list[float], list[float], int]:  # fmt: skip
    """Train the networks in place; return the losses, and the epoch whose weights they end with."""
    torch = import_torch()
    networks.to(device)
    x, y, x_held, y_held = (
        torch.from_numpy(a).to(device=device, dtype=torch.float32) for a in data
    )
    optimizer = torch.optim.Adam(networks.parameters(), lr=rate)
    losses, held_losses, best, best_state = list[float](), list[float](), 0, None

    def say() -> str:
        return f"loss {losses[-1]:.4f}" + (
            f", validation {held_losses[-1]:.4f}" if held_losses else ""
        )

    numbers: Iterable[int] = range(1, epochs + 1)
    with torch.enable_grad():
        for epoch in (
            with_progress(numbers, epochs, "training", say) if progress else numbers
        ):
            rows = torch.from_numpy(seed.stream(Use.SPLIT, epoch).permutation(len(x))).to(
                device
            )
            networks.train()
            total = 0.0
            # Equal minibatches: a last one of a single row could not be normalised.
            for part in rows.tensor_split(max(1, round(len(x) / batch_size))):
                optimizer.zero_grad(set_to_none=True)
                loss = mean_nll(networks, x[part], y[part])
                loss.backward()
                optimizer.step()
                total += float(loss.detach()) * len(part)
            if not math.isfinite(total):
                raise NumericalError(
                    "The loss is not finite. Lower learning_rate, or drop outliers."
                )
            losses.append(total / len(x))
            if not len(x_held):
                best = epoch
                continue
            networks.eval()
            with torch.no_grad():
                parts = zip(x_held.split(8192), y_held.split(8192), strict=True)
                total = sum(float(mean_nll(networks, a, b)) * len(a) for a, b in parts)
            held_losses.append(total / len(x_held))
            if best_state is None or held_losses[-1] < held_losses[best - 1]:
                best = epoch
                best_state = {
                    k: v.detach().clone() for k, v in networks.state_dict().items()
                }
            if epoch - best >= patience:
                break
    if best_state is not None:
        networks.load_state_dict(best_state)
    return losses, held_losses, best


def build_networks(sizes: Sizes, rng: np.random.Generator) -> Any:
    """Return the networks in single precision, started by torch's rule with numbers from `rng`."""
    torch = import_torch()
    nn, options = torch.nn, {"dtype": torch.float32, "device": "cpu"}
    module = nn.ModuleDict({network: nn.Sequential() for network in NETWORKS})
    with (
        torch.random.fork_rng(devices=[]),
        torch.no_grad(),
    ):  # the constructors draw starting values
        for network, number, inputs, outputs, norm, relu in sizes.layers():
            linear = nn.Linear(inputs, outputs, **options)
            bound = 1.0 / np.sqrt(inputs)
            for values in (linear.weight, linear.bias):
                values.copy_(
                    torch.from_numpy(rng.uniform(-bound, bound, tuple(values.shape)))
                )
            module[network].add_module(f"linear{number}", linear)
            if norm:
                after = nn.BatchNorm1d(outputs, eps=EPSILON, **options)
                module[network].add_module(f"norm{number}", after)
            if relu:
                module[network].add_module(f"relu{number}", nn.ReLU())
    return module


def mean_nll(networks: Any, x: Any, y: Any) -> Any:
    """Return −(1/n) Σ log p(y|x) of standardised tensors, by log-sum-exp over the components."""
    torch = import_torch()
    log_weights = torch.log_softmax(networks["weights"](x), dim=1)
    shape = (len(x), -1, y.shape[1])
    means, log_variances = (networks[k](x).reshape(shape) for k in ("means", "variances"))
    log_variances = log_variances.clamp(*LOG_VARIANCE)
    square = (y[:, None, :] - means) ** 2 * torch.exp(-log_variances)
    log_normal = -0.5 * (square + log_variances + np.log(2.0 * np.pi)).sum(dim=2)
    return -torch.logsumexp(log_weights + log_normal, dim=1).mean()
