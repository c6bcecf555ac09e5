"""The slow, obvious versions, written from the paper pair by pair, as a reference."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np


class KernelValue(NamedTuple):
    """l(y, z), its gradients, and the trace of its mixed second derivative."""

    value: float
    by_y: np.ndarray
    by_z: np.ndarray
    trace: float


def gaussian(y, z, s):
    d = y - z
    r = float(np.sum(d**2))
    value = np.exp(-r / (2 * s**2))
    trace = value * (len(y) / s**2 - r / s**4)
    return KernelValue(value, -d / s**2 * value, d / s**2 * value, trace)


def imq(y, z, s):
    d = y - z
    r = float(np.sum(d**2))
    base = 1 + r / s**2
    slope = base**-1.5 / s**2
    trace = len(y) * slope - 3 * r / s**4 * base**-2.5
    return KernelValue(base**-0.5, -d * slope, d * slope, trace)


def matern52(y, z, s):
    """With ρ = √5‖y − z‖/s: gradient −(5/3s²)(1+ρ)e^(−ρ) d, trace by the product rule."""
    d = y - z
    r = float(np.sum(d**2))
    rho = np.sqrt(5 * r) / s
    decay = np.exp(-rho)
    slope = 5 / (3 * s**2) * (1 + rho) * decay
    trace = len(y) * slope - 25 / (3 * s**4) * decay * r
    return KernelValue((1 + rho + rho**2 / 3) * decay, -d * slope, d * slope, trace)


def matern12(y, z, s):
    """It has no gradient at y = z, and so none at all here."""
    return (np.exp(-np.sqrt(np.sum((y - z) ** 2)) / s),)


KERNELS = {"Gaussian": gaussian, "IMQ": imq, "Matern52": matern52, "Matern12": matern12}


def stein_h(y, scores, kernel, s):
    """h_p of all pairs (paper, Proposition 2), one at a time."""
    n = len(y)
    h = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            value, by_y, by_z, trace = kernel(y[i], y[j], s)
            h[i, j] = (
                value * scores[i] @ scores[j] + scores[i] @ by_z + scores[j] @ by_y + trace
            )
    return h


def gram(a, b, kernel, s):
    return np.array([[kernel(p, q, s)[0] for q in b] for p in a])


def u_statistic(matrix):
    n = len(matrix)
    return float((matrix.sum() - np.trace(matrix)) / (n * (n - 1)))


def median_distance(points):
    distances = [
        np.linalg.norm(a - b) for i, a in enumerate(points) for b in points[i + 1 :]
    ]
    return float(np.median(distances))


def finite_matrix(x, h, locations, kernel, s, d_y):
    """H̄ of FSCD (paper, Proposition 5)."""
    features = gram(x, locations, kernel, s)
    return features @ features.T / len(locations) * h / d_y


def witness(x, h, v, kernel, s, d_y):
    k = gram(x, v[None], kernel, s)[:, 0]
    return float(
        sum(k[i] * k[j] * h[i, j] for i in range(len(x)) for j in range(len(x)))
    ) / (d_y * len(x) ** 2)


def criterion(matrix):
    n = len(matrix)
    off = matrix - np.diag(np.diag(matrix))
    means = off.sum(axis=1) / (n - 1)
    return float(u_statistic(matrix) / (2 * np.std(means, ddof=1)))


def wild_draw(matrix, signs):
    n = len(matrix)
    total = sum(
        signs[i] * signs[j] * matrix[i, j] for i in range(n) for j in range(n) if i != j
    )
    return total / (n - 1)


def multinomial_draw(matrix, counts):
    n = len(matrix)
    w = (counts - 1) / n
    return n * sum(w[i] * w[j] * matrix[i, j] for i in range(n) for j in range(n) if i != j)


def finite_set_statistic(y, scores, locations, kernel, s):
    """The unconditional FSSD² as a U-statistic."""
    n, d = y.shape
    tau = np.zeros((n, len(locations), d))
    for i in range(n):
        for j, v in enumerate(locations):
            value, by_y, _, _ = kernel(y[i], v, s)
            tau[i, j] = scores[i] * value + by_y
    tau = tau.reshape(n, -1) / np.sqrt(d * len(locations))
    return u_statistic(tau @ tau.T)


def mmd2(matrix, first):
    """The unbiased MMD² of `first` rows and the others (Gretton et al. 2012, Lemma 6)."""
    a = [i for i in range(len(matrix)) if first[i]]
    b = [i for i in range(len(matrix)) if not first[i]]
    within_a = sum(matrix[i, j] for i in a for j in a if i != j) / (len(a) * (len(a) - 1))
    within_b = sum(matrix[i, j] for i in b for j in b if i != j) / (len(b) * (len(b) - 1))
    between = sum(matrix[i, j] for i in a for j in b) / (len(a) * len(b))
    return within_a + within_b - 2 * between


class Zheng(NamedTuple):
    """K∘G of Zheng's test, with its A, B and T."""

    matrix: np.ndarray
    A: float
    B: float
    T: float


def zheng(x, y, cdf):
    """Zheng's test for cdf(value, i), pair by pair."""
    n, d_x = x.shape
    h = [np.std(column, ddof=1) * n ** (-1 / (12 * d_x)) for column in x.T]
    d = np.array([[float(y[i] <= y[k]) - cdf(y[k], i) for k in range(n)] for i in range(n)])
    product = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k = np.exp(-0.5 * sum(((x[i, c] - x[j, c]) / h[c]) ** 2 for c in range(d_x)))
            product[i, j] = k * sum(d[i] * d[j]) / n
    off = [product[i, j] for i in range(n) for j in range(n) if i != j]
    A = sum(off) / (n * (n - 1))
    B = 2 * sum(v**2 for v in off) / (n * (n - 1))
    return Zheng(matrix=product, A=A, B=B, T=n * A / np.sqrt(B))


def off_diagonal_forms(matrix, weights):
    """Σ_{i≠j} w_i w_j H_ij for each column w of the weights."""
    off = matrix - np.diag(np.diag(matrix))
    return np.array([w @ off @ w for w in weights.T])


def log_mean_exp(values):
    return float(np.log(np.mean([np.exp(value) for value in values])))


class Evidence(NamedTuple):
    """−log(tail probability) of a statistic and of its draws, and the p-value."""

    value: float
    draws: np.ndarray
    pvalue: float


def evidence(statistic, draws):
    """Treat the statistic and its draws alike; the largest has an exponential tail."""
    m = len(draws)
    both = [statistic, *draws]
    tails = [sum(other >= value for other in both) / (m + 1) for value in both]
    values = [-np.log(tail) for tail in tails]
    largest = int(np.argmax(both))
    others = sorted(both[:largest] + both[largest + 1 :])
    top = others[-max(1, round(0.05 * m)) :]
    slope = np.mean([value - top[0] for value in top]) or 1.0
    values[largest] += (both[largest] - others[-1]) / slope
    return Evidence(value=float(values[0]), draws=np.array(values[1:]), pvalue=tails[0])


def standardized(values):
    """Values less their mean, over their standard deviation; 0 where that is 0."""
    spread = np.std(values)
    return [(value - np.mean(values)) / spread if spread else 0.0 for value in values]


def scale_by(reference, value):
    """A value among the reference draws and itself, standardised."""
    return standardized([*reference, value])[-1]


def evidence_by(reference, value):
    """−log P(V ≥ value), by a straight line between draws, and beyond 80% of them."""
    draws = sorted(reference)
    r = len(draws)
    points = [(t, -np.log((r - i) / (r + 1))) for i, t in enumerate(draws)]
    first = r - round(0.2 * r)
    cut, start = points[first]
    if value > cut:
        excess = np.mean([t - cut for t in draws[first:]])
        return start + (value - cut) / excess
    if value < draws[0]:
        return 0.0
    for (a, low), (b, high) in itertools.pairwise(points):
        if a <= value <= b:
            return low + (high - low) * (value - a) / (b - a)
    raise AssertionError


def harmonic(parts, shares):
    """log Σ_i w_i/p_i, of statistics and of draws."""
    pairs = list(zip(parts, shares, strict=True))
    value = np.log(sum(share * np.exp(part.value) for part, share in pairs))
    draws = np.log(sum(share * np.exp(part.draws) for part, share in pairs))
    return float(value), draws


def centred_h(gram_of_cells, probabilities, cells):
    """h of a discrete y by its definition: l(y, y') − E l(Y, y') − E l(y, Y') + E l(Y, Y').

    `gram_of_cells` (K, K) is l between cells, `probabilities` (n, K), `cells` (n,) those
    observed.
    """
    n = len(cells)
    h = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            p = probabilities[i]
            q = probabilities[j]
            a = cells[i]
            b = cells[j]
            mean_first = sum(p[c] * gram_of_cells[c, b] for c in range(len(p)))
            mean_second = sum(q[c] * gram_of_cells[a, c] for c in range(len(q)))
            mean_both = p @ gram_of_cells @ q
            h[i, j] = gram_of_cells[a, b] - mean_first - mean_second + mean_both
    return h


class DifferenceOfModels(NamedTuple):
    value: float  #: The difference of the discrepancies of two models.
    error: float  #: Its standard error.
    z: float  #: The statistic, corrected for skewness.
    discrepancies: tuple[float, float]


def difference(p, q):
    """Compare two models by their Stein matrices (n, n)."""
    n = len(p)
    m = p - q
    np.fill_diagonal(m, 0.0)
    value = u_statistic(m)
    g = m.sum(axis=1) / (n - 1) - value
    variance = max(4 * g @ g / (n * (n - 1)), 2 * (m**2).sum() / (n * (n - 1)) ** 2)
    rest = m - g[:, None] - g - value
    np.fill_diagonal(rest, 0.0)
    unit = (n * variance / 4) ** 1.5 * np.sqrt(n)
    cube = (g**3).mean() / unit
    cross = g @ rest @ g / (n * (n - 1)) / unit
    t = value / np.sqrt(variance)
    a = (2 * cube + 3 * cross) / 6
    b = (cube + 3 * cross) / 6
    return DifferenceOfModels(
        value=value,
        error=np.sqrt(variance),
        z=t + a * t**2 + a**2 * t**3 / 3 + b,
        discrepancies=(u_statistic(p), u_statistic(q)),
    )


def kaplan_meier(y, event):
    """Times in order, and the Kaplan-Meier estimate of P(T <= t); ties: events first."""
    order = np.lexsort((1 - event, y))
    risk = np.arange(len(y), 0, -1)
    return y[order], 1.0 - np.cumprod(1.0 - event[order] / risk)


def kolmogorov_censored(cdf, sample, y, event, rng, draws=200):
    """The p-value of gofreg's CondKolmY under random censoring, no free parameters.

    The statistic is sqrt(n)*sup_t |F_KM(t) - mean_i F(t|x_i)| over the observed times; the
    null is a parametric bootstrap with times of the model and censoring times of the
    Kaplan-Meier estimate.
    """
    n = len(y)

    def statistic(y, event):
        times, estimate = kaplan_meier(y, event)
        predicted = cdf(times).mean(axis=0)
        before = np.append(0.0, estimate[:-1])
        at_steps = np.abs(estimate - predicted).max()
        before_steps = np.abs(before - predicted).max()
        return np.sqrt(n) * max(at_steps, before_steps)

    censoring_times, censored_by = kaplan_meier(y, 1 - event)
    observed = statistic(y, event)
    not_below = 0
    for _ in range(draws):
        times = sample(rng)
        place = np.searchsorted(censored_by, rng.random(n), side="left")
        until = np.append(censoring_times, np.inf)[place]
        drawn = statistic(np.minimum(times, until), (times <= until).astype(int))
        not_below += drawn >= observed
    return (1 + not_below) / (draws + 1)
