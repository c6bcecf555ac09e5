"""The networks in torch, and their training: negative log-likelihood, Adam, early stopping."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.engine import with_progress
from condgof.errors import InputError, NumericalError, ShapeError, require
from condgof.laws.mdn._model import EPSILON, LOG_VARIANCE, MDN, NETWORKS, History, Sizes
from condgof.sample import RngLike, Sample, Seed, Use, is_frame

FEWEST_ROWS = 10


@dataclass(frozen=True)
class Plan:
    """How to train; see `fit_mdn`."""

    components: int
    epochs: int
    batch_size: int
    learning_rate: float
    validation_fraction: float
    patience: int
    device: Any
    progress: bool

    def __post_init__(self) -> None:
        for name, least in (("components", 1), ("epochs", 1), ("batch_size", 2), ("patience", 1)):
            value = getattr(self, name)
            try:
                number = operator.index(value)
            except TypeError as error:
                raise InputError(f"{name} must be an integer, got {value!r}.") from error
            if number < least:
                raise InputError(f"{name} must be at least {least}, got {number}.")
        if not 0 < self.learning_rate < math.inf:
            raise InputError(f"learning_rate must be positive, got {self.learning_rate!r}.")
        if not 0 <= self.validation_fraction <= 0.9:
            raise InputError(f"validation_fraction must be 0 to 0.9, got {self.validation_fraction!r}.")


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
    plan = Plan(
        components, epochs, batch_size, learning_rate, validation_fraction, patience, device, progress
    )
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
    losses, held_losses, best = _train(networks, data, plan, seed)
    shift = float(np.log(y_scale).sum())  # from the loss of standardised y to that of y
    return MDN(
        sizes=sizes,
        state={k: v.cpu().double().numpy() for k, v in networks.state_dict().items()},
        x_shift=x_shift,
        x_scale=x_scale,
        y_shift=y_shift,
        y_scale=y_scale,
        x_names=tuple(map(str, x.columns)) if is_frame(x) else None,
        history=History(
            tuple(loss + shift for loss in losses), tuple(loss + shift for loss in held_losses), best
        ),
    )


def _train(
    networks: Any, data: Iterable[FloatArray], plan: Plan, seed: Seed
) -> tuple[list[float], list[float], int]:
    """Train the networks in place; they end with the weights of the best epoch.

    The data are x and y to train on, and x and y set aside. Returns the losses there, and that epoch.
    """
    torch = import_torch()
    networks.to(plan.device)
    single = {"device": plan.device, "dtype": torch.float32}
    x, y, x_held, y_held = (torch.from_numpy(array).to(**single) for array in data)
    optimizer = torch.optim.Adam(networks.parameters(), lr=plan.learning_rate)
    losses: list[float] = []
    held_losses: list[float] = []
    best, best_state = 0, None

    def say() -> str:
        return f"loss {losses[-1]:.4f}" + (f", validation {held_losses[-1]:.4f}" if held_losses else "")

    epochs: Iterable[int] = range(1, plan.epochs + 1)
    if plan.progress:
        epochs = with_progress(epochs, plan.epochs, "training", say)
    with torch.enable_grad():
        for epoch in epochs:
            rows = torch.from_numpy(seed.stream(Use.SPLIT, epoch).permutation(len(x)))
            losses.append(_one_epoch(networks, optimizer, x, y, rows.to(plan.device), plan.batch_size))
            if not len(x_held):
                best = epoch
                continue
            held_losses.append(_loss(networks, x_held, y_held))
            if best_state is None or held_losses[-1] < held_losses[best - 1]:
                best = epoch
                best_state = {k: v.detach().clone() for k, v in networks.state_dict().items()}
            if epoch - best >= plan.patience:
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


def _check_sample(sample: Sample) -> None:
    if sample.n < FEWEST_ROWS:
        raise ShapeError(f"A network needs at least {FEWEST_ROWS} rows, got {sample.n}.")
    text = [column.name for column in sample.x_columns if column.categorical]
    if text:
        raise InputError(f"x column {text[0]!r} holds text. Turn it into numbers (0 and 1) first.")
    constant = [column.name for column in sample.y_columns if column.constant]
    if constant:
        raise InputError(f"y is constant (column {constant[0]!r}), so there is no density to fit.")


def import_torch() -> Any:
    """Import torch, or say how to install it."""
    return require("torch", "torch", "Training a mixture density network")


def build_networks(sizes: Sizes, rng: np.random.Generator) -> Any:
    """Return the three networks in single precision, as a ``torch.nn.ModuleDict``.

    Linear layers start uniform on ±1/√(inputs), torch's own rule, with numbers from `rng`: torch's
    global generator is left as it was.
    """
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
