"""The slow, obvious versions, written from the paper pair by pair: what the library is held to."""

from __future__ import annotations

import numpy as np


def gaussian(y, z, s):
    """l, its gradients by y and by z, and the trace of its mixed second derivative."""
    d, r = y - z, float(np.sum((y - z) ** 2))
    value = np.exp(-r / (2 * s**2))
    return value, -d / s**2 * value, d / s**2 * value, value * (len(y) / s**2 - r / s**4)


def imq(y, z, s):
    d, r = y - z, float(np.sum((y - z) ** 2))
    base = 1 + r / s**2
    slope = base**-1.5 / s**2
    return base**-0.5, -d * slope, d * slope, len(y) * slope - 3 * r / s**4 * base**-2.5


def matern52(y, z, s):
    """With ρ = √5‖y − z‖/s: gradient −(5/3s²)(1+ρ)e^(−ρ) d, trace by the product rule."""
    d, r = y - z, float(np.sum((y - z) ** 2))
    rho = np.sqrt(5 * r) / s
    decay = np.exp(-rho)
    slope = 5 / (3 * s**2) * (1 + rho) * decay
    trace = len(y) * slope - 25 / (3 * s**4) * decay * r
    return (1 + rho + rho**2 / 3) * decay, -d * slope, d * slope, trace


def matern12(y, z, s):
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
    """The unbiased MMD² of the rows in `first` against the others (Gretton et al. 2012, Lemma 6)."""
    rows = range(len(matrix))
    a, b = [i for i in rows if first[i]], [i for i in rows if not first[i]]
    within_a = sum(matrix[i, j] for i in a for j in a if i != j) / (len(a) * (len(a) - 1))
    within_b = sum(matrix[i, j] for i in b for j in b if i != j) / (len(b) * (len(b) - 1))
    between = sum(matrix[i, j] for i in a for j in b) / (len(a) * len(b))
    return within_a + within_b - 2 * between


def zheng(x, y, cdf):
    """K∘G of Zheng's test with its A, B and T, for cdf(value, i), pair by pair."""
    n, d_x = x.shape
    h = [np.std(column, ddof=1) * n ** (-1 / (12 * d_x)) for column in x.T]
    d = np.array([[float(y[i] <= y[k]) - cdf(y[k], i) for k in range(n)] for i in range(n)])
    product = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            k = np.exp(-0.5 * sum(((x[i, c] - x[j, c]) / h[c]) ** 2 for c in range(d_x)))
            product[i, j] = k * sum(d[i] * d[j]) / n
    off = [product[i, j] for i in range(n) for j in range(n) if i != j]
    A, B = sum(off) / (n * (n - 1)), 2 * sum(v**2 for v in off) / (n * (n - 1))
    return product, A, B, n * A / np.sqrt(B)


def scale_matrices(x, y, scores, sigma_x, x_scales, y_scales):
    """H of every pair of a bandwidth on x and one on y: by y, then by x, the widest first."""
    matrices = []
    for sigma in sorted(y_scales, reverse=True):
        h = stein_h(y, scores, gaussian, sigma)
        matrices += [
            gram(x, x, gaussian, a * sigma_x) * h for a in sorted(x_scales, reverse=True)
        ]
    return matrices


def local_matrices(x, y, scores, sigma_x, y_scales, locations):
    """The matrix of FSCD with J = 1 (without its factor 1/d_y), by bandwidth on y, then by location."""
    matrices = []
    for sigma in y_scales:
        h = stein_h(y, scores, gaussian, sigma)
        for v in locations:
            k = gram(x, v[None], gaussian, sigma_x)[:, 0]
            matrices.append(np.outer(k, k) * h)
    return matrices


def off_diagonal_forms(matrix, weights):
    """Σ_{i≠j} w_i w_j H_ij for each column w of the weights."""
    off = matrix - np.diag(np.diag(matrix))
    return np.array([w @ off @ w for w in weights.T])


def log_mean_exp(values):
    return float(np.log(np.mean([np.exp(value) for value in values])))


def evidence(statistic, draws):
    """−log(tail probability) of a statistic and of each draw, and the p-value of the statistic.

    The statistic and its draws are treated alike; the largest goes on along an exponential
    tail.
    """
    m, both = len(draws), [statistic, *draws]
    tails = [sum(other >= value for other in both) / (m + 1) for value in both]
    values = [-np.log(tail) for tail in tails]
    largest = int(np.argmax(both))
    others = sorted(both[:largest] + both[largest + 1 :])
    top = others[-max(1, round(0.05 * m)) :]
    values[largest] += (both[largest] - others[-1]) / (
        np.mean([value - top[0] for value in top]) or 1.0
    )
    return float(values[0]), np.array(values[1:]), tails[0]


def family(matrices, signs):
    """Statistics n·D̂, their draws, each one's p-value, and the evidence of their combination."""
    n = len(signs)
    statistics = np.array([n * u_statistic(matrix) for matrix in matrices])
    draws = np.array([off_diagonal_forms(matrix, signs) for matrix in matrices]) / (n - 1)
    spread = draws.std(axis=1)
    combined = log_mean_exp(statistics / spread)
    combined_draws = [log_mean_exp(column) for column in (draws / spread[:, None]).T]
    above = (draws >= statistics[:, None]).sum(axis=1)
    return (
        statistics,
        (1 + above) / (draws.shape[1] + 1),
        evidence(combined, combined_draws),
    )


def harmonic(parts, shares):
    """log Σ_i w_i/p_i, of statistics and of draws."""
    value = np.log(
        sum(share * np.exp(part[0]) for part, share in zip(parts, shares, strict=True))
    )
    draws = np.log(
        sum(share * np.exp(part[1]) for part, share in zip(parts, shares, strict=True))
    )
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
            p, q, a, b = probabilities[i], probabilities[j], cells[i], cells[j]
            h[i, j] = (
                gram_of_cells[a, b]
                - sum(p[c] * gram_of_cells[c, b] for c in range(len(p)))
                - sum(q[c] * gram_of_cells[a, c] for c in range(len(q)))
                + sum(
                    p[c] * q[d] * gram_of_cells[c, d]
                    for c in range(len(p))
                    for d in range(len(q))
                )
            )
    return h


def difference(p, q):
    """Compare two models from their Stein matrices (n, n): the difference of their discrepancies, its
    standard error, the statistic corrected for skewness, and both discrepancies."""
    n, m = len(p), p - q
    np.fill_diagonal(m, 0.0)
    value = u_statistic(m)
    g = m.sum(axis=1) / (n - 1) - value
    variance = max(4 * g @ g / (n * (n - 1)), 2 * (m**2).sum() / (n * (n - 1)) ** 2)
    rest = m - g[:, None] - g - value
    np.fill_diagonal(rest, 0.0)
    unit = (n * variance / 4) ** 1.5 * np.sqrt(n)
    cube, cross = (g**3).mean() / unit, g @ rest @ g / (n * (n - 1)) / unit
    t = value / np.sqrt(variance)
    a, b = (2 * cube + 3 * cross) / 6, (cube + 3 * cross) / 6
    z = t + a * t**2 + a**2 * t**3 / 3 + b
    return value, np.sqrt(variance), z, (u_statistic(p), u_statistic(q))


def kaplan_meier(y, event):
    """Times in order and the Kaplan-Meier estimate of P(T <= t) there; ties: events first."""
    order = np.lexsort((1 - event, y))
    risk = np.arange(len(y), 0, -1)
    return y[order], 1.0 - np.cumprod(1.0 - event[order] / risk)


def kolmogorov_censored(cdf, sample, y, event, rng, draws=200):
    """CondKolmY of gofreg under random censoring, for a model without free parameters: its p-value.

    The statistic is sqrt(n)*sup_t |F_KM(t) - mean_i F(t|x_i)| over the observed times; the
    null is a parametric bootstrap with times of the model and censoring times of the
    Kaplan-Meier estimate.
    """
    n = len(y)

    def statistic(y, event):
        at, share = kaplan_meier(y, event)
        says = cdf(at).mean(axis=0)
        before = np.append(0.0, share[:-1])
        return np.sqrt(n) * max(np.abs(share - says).max(), np.abs(before - says).max())

    at, lost = kaplan_meier(y, 1 - event)
    seen, drawn = statistic(y, event), []
    for _ in range(draws):
        times = sample(rng)
        place = np.searchsorted(lost, rng.random(n), side="left")
        until = np.append(at, np.inf)[place]
        drawn.append(statistic(np.minimum(times, until), (times <= until).astype(int)))
    return (1 + sum(one >= seen for one in drawn)) / (draws + 1)
