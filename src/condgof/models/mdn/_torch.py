"""The networks in torch, where they are trained."""

from __future__ import annotations

from typing import Any

import numpy as np

from condgof.errors import require
from condgof.models.mdn._model import MDN
from condgof.models.mdn._networks import EPSILON, HIDDEN, LOG_VARIANCE, RECTIFIED, Sizes


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
    networks = {}
    with torch.random.fork_rng(devices=[]):  # the constructors draw starting values
        for name, rectified in RECTIFIED.items():
            widths, net = sizes.widths(name), nn.Sequential()
            for i in range(len(widths) - 1):
                net.add_module(f"linear{i + 1}", nn.Linear(widths[i], widths[i + 1], **options))
                if i < len(HIDDEN):
                    net.add_module(f"norm{i + 1}", nn.BatchNorm1d(widths[i + 1], eps=EPSILON, **options))
                    if rectified[i]:
                        net.add_module(f"relu{i + 1}", nn.ReLU())
            networks[name] = net
    module = nn.ModuleDict(networks)
    with torch.no_grad():
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                bound = 1.0 / np.sqrt(layer.in_features)
                for values in (layer.weight, layer.bias):
                    drawn = rng.uniform(-bound, bound, tuple(values.shape))
                    values.copy_(torch.from_numpy(drawn))
    return module


def outputs(networks: Any, x: Any, d_y: int) -> tuple[Any, Any, Any]:
    """Return log-weights (n, C), means and log-variances (n, C, d_y) for a tensor x (n, d_x)."""
    torch = import_torch()
    log_weights = torch.log_softmax(networks["weights"](x), dim=1)
    shape = (len(x), -1, d_y)
    log_variances = networks["variances"](x).clamp(*LOG_VARIANCE).reshape(shape)
    return log_weights, networks["means"](x).reshape(shape), log_variances


def mean_nll(networks: Any, x: Any, y: Any) -> Any:
    """Return −(1/n) Σ log p(y|x) of standardised tensors, by log-sum-exp over the components."""
    torch = import_torch()
    log_weights, means, log_variances = outputs(networks, x, y.shape[1])
    square = (y[:, None, :] - means) ** 2 * torch.exp(-log_variances)
    log_normal = -0.5 * (square + log_variances + np.log(2.0 * np.pi)).sum(dim=2)
    return -torch.logsumexp(log_weights + log_normal, dim=1).mean()


def to_torch(model: MDN) -> Any:
    """Return the networks of a fitted model as a torch module, in eval mode and double precision.

    They take and give *standardised* numbers; the model's ``x_shift``, ``x_scale``, ``y_shift`` and
    ``y_scale`` say how. Changing the module does not change the model.

    Parameters
    ----------
    model : MDN
        The fitted model.

    Returns
    -------
    torch.nn.ModuleDict
        With the entries "weights", "means" and "variances".
    """
    torch = import_torch()
    networks = build_networks(model.sizes, np.random.default_rng(0)).double()
    state = {name: torch.from_numpy(np.array(array)) for name, array in model.state.items()}
    missing, unexpected = networks.load_state_dict(state, strict=False)
    assert not unexpected
    assert all(name.endswith("num_batches_tracked") for name in missing)
    return networks.eval()
