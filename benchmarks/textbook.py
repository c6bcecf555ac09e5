"""The textbook ways, for comparison: dense matrices, a loop over draws, autograd and Adam.

They are written plainly from the paper, in single precision as is usual, and use all cores.
"""

from __future__ import annotations

import numpy as np


def dense_stein(x, y, scores, sigma_x, sigma_y):
    """A dense float32 Stein matrix without its diagonal."""
    x, y, s = (np.asarray(a, dtype=np.float32) for a in (x, y, scores))
    d_y = y.shape[1]
    square_x = ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=2)
    difference = y[:, None, :] - y[None, :, :]
    square_y = (difference**2).sum(axis=2)
    k = np.exp(-square_x / np.float32(2 * sigma_x**2))
    l = np.exp(-square_y / np.float32(2 * sigma_y**2))  # noqa: E741
    cross = ((s[None, :, :] - s[:, None, :]) * difference).sum(axis=2)
    precision = np.float32(1 / sigma_y**2)
    h = k * l * (s @ s.T - precision * cross + d_y * precision - square_y * precision**2)
    np.fill_diagonal(h, 0.0)
    return h


def dense_kcsd(x, y, scores, sigma_x, sigma_y, n_boot, seed):
    """KCSD with a dense float32 Stein matrix and one matrix-vector product a draw."""
    n = len(y)
    h = dense_stein(x, y, scores, sigma_x, sigma_y)
    statistic = h.sum() / (n - 1)
    rng = np.random.default_rng(seed)
    draws = np.empty(n_boot)
    for b in range(n_boot):
        w = ((rng.multinomial(n, np.full(n, 1 / n)) - 1) / n).astype(np.float32)
        draws[b] = n * (w @ (h @ w))
    return float(statistic), draws


def dense_compare(x, y, p, q, sigma_x, sigma_y):
    """The difference of two KCSDs and its plain standard error, from dense matrices."""
    m = dense_stein(x, y, p, sigma_x, sigma_y) - dense_stein(x, y, q, sigma_x, sigma_y)
    means = m.mean(axis=1)
    return float(means.mean()), 2.0 * float(means.std()) / np.sqrt(len(y))


def adam_fscd(x, y, scores, locations, sigma_x, sigma_y, steps=200, rate=0.05):
    """Maximise the power criterion with Adam; each step rebuilds the Stein matrix."""
    import torch

    x, y, s = (torch.tensor(np.asarray(a), dtype=torch.float32) for a in (x, y, scores))
    n, d_y = y.shape
    v = torch.tensor(np.asarray(locations), dtype=torch.float32, requires_grad=True)
    log_x = torch.tensor(float(np.log(sigma_x)), requires_grad=True)
    log_y = torch.tensor(float(np.log(sigma_y)), requires_grad=True)
    optimizer = torch.optim.Adam([v, log_x, log_y], lr=rate)
    off = 1 - torch.eye(n)
    value = torch.zeros(())
    for _ in range(steps):
        optimizer.zero_grad()
        precision = torch.exp(-2 * log_y)
        difference = y[:, None, :] - y[None, :, :]
        square = (difference**2).sum(dim=2)
        cross = ((s[None, :, :] - s[:, None, :]) * difference).sum(dim=2)
        h = torch.exp(-square * precision / 2) * (
            s @ s.T - precision * cross + d_y * precision - square * precision**2
        )
        f = torch.exp(
            -((x[:, None, :] - v[None, :, :]) ** 2).sum(dim=2) * torch.exp(-2 * log_x) / 2
        )
        means = (off * h * (f @ f.T) / (len(v) * d_y)).sum(dim=1) / (n - 1)
        value = means.mean() / (2 * means.std() + 1e-6)
        (-value).backward()
        optimizer.step()
    return (
        v.detach().double().numpy(),
        float(torch.exp(log_x.detach())),
        float(torch.exp(log_y.detach())),
        float(value.detach()),
    )
