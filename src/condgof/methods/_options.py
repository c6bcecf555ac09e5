"""How to test: what a user asked for, checked; how rows depend on each other; the sample, made ready.

Unless that is said, scores s_i are looked at in the order of the rows. Where the model is right and rows
are independent, for each lag k

    t_k = Σ_i c_i c_{i+k} / √(Σ_i c_i² c_{i+k}²),    c = s − mean(s),

is nearly standard normal, also when the spread of the scores changes with x. Where scores have few
values, or a long tail on one side, it leans on large numbers too soon; √n·r_k, with the correlation r_k,
then errs on other samples, and the smaller of the two is taken.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypedDict, TypeVar

import numpy as np
from scipy.special import gammaincc, ndtri

from condgof._typing import FloatArray
from condgof.engine import Engine, as_engine
from condgof.errors import (
    DependenceWarning,
    InputError,
    InputTypeError,
    check_choice,
    check_count,
    check_number,
    warn,
)
from condgof.laws._as_model import as_model
from condgof.laws._law import Law, ModelLike
from condgof.laws._survival import censored
from condgof.methods._scored import CENSORED, Scored, Units, check_y, read_sample, rows_named
from condgof.methods._sources import Stream, elsewhere, prepare_source, refuse_source
from condgof.null._bootstrap import Dependence, check_null
from condgof.sample import RngLike, Sample, Seed, read_groups
from condgof.stein._matrix import DEFAULT_MEMORY, LEAST_MEMORY

SOLVERS = ("auto", "exact", "lowrank")
#: "auto" is exact up to this many multiplications, n²·m: half a second on two cores.
EXACT_WORK = 2.5e10


class HowToTest(TypedDict, total=False):
    """The options that the Stein tests share; `kcsd` says what they mean."""

    solver: str
    null: str
    n_boot: int
    precision: float | None
    dependence: Any
    groups: Any
    missing: str
    rng: RngLike
    engine: Any
    memory: int


Verb = TypeVar("Verb", bound=Callable[..., Any])


def spelled_out(verb: Verb) -> Verb:
    """Let the signature of a function of ``**how`` name these options and their defaults."""
    signature, keyword = inspect.signature(verb), inspect.Parameter.KEYWORD_ONLY
    *own, _ = signature.parameters.values()
    defaults = {name: p.default for name, p in inspect.signature(Options.of).parameters.items()}
    shared = [
        inspect.Parameter(name, keyword, default=defaults.get(name), annotation=kind.__forward_arg__)
        for name, kind in HowToTest.__annotations__.items()
    ]
    verb.__signature__ = signature.replace(parameters=own + shared)  # type: ignore[attr-defined]
    return verb


def read_options(how: HowToTest) -> tuple[Options, Seed]:
    """Check the options that a user passed to a test."""
    known = HowToTest.__annotations__
    unknown = [name for name in how if name not in known]
    if unknown:
        raise InputTypeError(f"There is no option {unknown[0]!r}. The tests share {', '.join(known)}.")
    asked: Any = dict(how)
    rng = asked.pop("rng", None)
    return Options.of(**asked), Seed.of(rng)


@dataclass(frozen=True, eq=False)
class Asked:
    """What a user said of how rows depend on each other, checked."""

    dependence: int | str | None = None
    groups: Any = None

    @classmethod
    def of(cls, dependence: Any, groups: Any, null: str) -> Asked:
        """Check what can be checked before the sample is read."""
        if dependence is None and groups is None:
            return cls()
        if dependence is not None and groups is not None:
            raise InputError(
                "dependence= and groups= were both given. Rows are ordered in time, or they come in "
                "groups that are independent of each other: pass one of the two. For time series of "
                "several subjects, pass the subjects as groups=."
            )
        if null not in ("auto", "wild"):
            raise InputError(
                f"dependence= and groups= need null='auto' or 'wild', got {null!r}: other nulls take "
                "rows as independent."
            )
        if dependence is None or (isinstance(dependence, str) and dependence == "auto"):
            return cls(dependence, groups)
        advice = " Choose some multiple of the time over which errors are correlated, or 'auto'."
        return cls(check_count(dependence, "dependence, a block length,", hint=advice))


@dataclass(frozen=True, eq=False)
class Options:
    """How to solve, checked."""

    solver: str
    null: str
    n_boot: int
    #: Relative residual that features of x and of y should reach; None for the default.
    precision: float | None
    engine: Engine
    #: Budget of the exact solver, in bytes.
    memory: int
    asked: Asked
    missing: str
    #: How rows depend on each other; known once the sample is (`for_rows`).
    rows: Dependence = field(default_factory=Dependence)

    @classmethod
    def of(
        cls,
        solver: Any = "auto",
        null: Any = "auto",
        n_boot: Any = 1000,
        precision: Any = None,
        dependence: Any = None,
        groups: Any = None,
        missing: str = "refuse",
        engine: Any = None,
        memory: Any = DEFAULT_MEMORY,
    ) -> Options:
        """Check what a user passed."""
        check_choice(solver, "solver", SOLVERS)
        check_null(null, n_boot)
        if precision is not None:
            wanted = "a number between 0 and 1, a residual to reach"
            precision = check_number(precision, "precision", wanted, lambda share: 0 < share < 1)
        asked = Asked.of(dependence, groups, null)
        runs, memory = as_engine(engine), check_memory(memory)
        return cls(solver, null, int(n_boot), precision, runs, memory, asked, missing)

    def for_rows(self, scored: Scored | Stream, data: Any) -> Options:
        """Find out how the rows of a sample depend on each other; `data` may have a column of groups."""
        sample, n = (scored.sample, scored.n) if isinstance(scored, Scored) else (None, scored.source.n)
        rows = dependence_of(
            self.asked,
            n,
            data,
            self.n_boot,
            sample,
            lambda size: stretches_of(scored, self.engine, size),
        )
        return replace(self, rows=rows)

    def chosen(self, n: int) -> str:
        """Return the solver that runs: a fixed rule in n and the number of draws."""
        if self.solver != "auto":
            return self.solver
        few = self.precision is None and float(n) * n * self.n_boot <= EXACT_WORK
        return "exact" if few else "lowrank"


def check_reg(reg: Any) -> float:
    """Check the constant that is added to σ̂_V."""
    return check_number(reg, "reg", "finite and not negative", lambda value: 0 <= value < np.inf)


def check_memory(memory: object) -> int:
    """Check the memory budget given by a user, in bytes."""
    wanted = f"at least {LEAST_MEMORY} bytes"
    return int(min(check_number(memory, "memory", wanted, lambda size: size >= LEAST_MEMORY), 2**60))


def censored_model(model: Any, x: Any, y: Any, event: Any, entry: Any) -> Any:
    """Bind a model to what was said of censoring; return it as it is where nothing was."""
    if event is None and entry is None:
        return model
    refuse_source("event=", x, y)
    return censored(as_model(model), event, entry, x)


def prepare(
    model: Any, x: Any, y: Any, units: Units, options: Options, seed: Seed
) -> tuple[Law, Scored] | tuple[ModelLike, Stream]:
    """Check and score a sample; also return the law of rows in memory, or the model of a stream."""
    arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    if not arrays and elsewhere(x, y):
        return prepare_source(model, x, y, units, options, seed)
    check_y(y)
    law, sample = read_sample(as_model(model), x, y, options.missing)
    many = units.predictions or options.chosen(sample.n) == "lowrank"
    with rows_named(sample.kept if sample.left_out else None):
        return law, Scored.of(law, sample, units, seed if many else None)


#: Lags that are looked at, and how unlikely their correlations must be to be spoken of.
LAGS, UNLIKELY = 5, 1e-5
#: Fewer rows tell nothing.
FEW_ROWS = 60
#: Of a source, so many stretches of so many rows are looked at; by "auto" of more rows.
STRETCHES, STRETCH, LONG = 4, 1024, 4096
#: Of residuals of many classes, so many columns.
COLUMNS = 16
#: Scores beyond this many median absolute deviations count as so many.
CLIP = 6.0
#: Rows that are enough for a median, and to be looked at where nothing was said.
ENOUGH = 100_000
#: With fewer groups, or blocks, the level is approximate.
FEW = 10
#: "auto" looks at lags up to a quarter of the rows, at so many multiples of each together, and takes
#: independent rows for dependent ones with this probability. So few blocks hardly ever reject.
QUARTER, SEASONS, CHANCE, FEWEST = 4, 8, 0.01, 5


def dependence_of(
    asked: Asked,
    n: int,
    data: Any,
    n_boot: int,
    sample: Sample | None = None,
    stretches: Callable[[int], list[FloatArray]] | None = None,
) -> Dependence:
    """Find how n rows depend on each other; warn where they seem to, and nothing was said.

    `data` may have a column of groups; of a `sample` from which rows were left out, groups were given
    for these, too. `stretches` gives scores of rows that follow each other, so many at a time.
    """
    if asked.groups is not None:
        lost, kept = (0, None) if sample is None else (sample.left_out, sample.kept)
        codes = read_groups(asked.groups, data, n + lost, kept if lost else None)
        return Dependence(codes=codes, notes=_group_notes(int(codes.max()) + 1, n_boot))
    length = asked.dependence
    if length is None:
        return Dependence(notes=() if stretches is None else look(stretches(STRETCH)))
    if isinstance(length, str):
        if stretches is None:
            raise InputError("dependence='auto' is for tests that use scores. Pass a block length.")
        length = auto_length(stretches(LONG), n)
        note = f"block length {length} chosen by dependence='auto'"
        if n < FEW * length:
            note += f": n = {n:,} rows are fewer than {FEW} such blocks, and hardly ever reject"
        return Dependence(length, notes=(note,))
    if length >= n:
        raise InputError(
            f"dependence = {length} is a block length of the whole sample (n = {n}). Pass a shorter one."
        )
    few = f"n = {n:,} rows are fewer than {FEW} blocks of {length}: the level is approximate"
    return Dependence(length, notes=(few,) if n < FEW * length else ())


def _group_notes(count: int, n_boot: int) -> tuple[str, ...]:
    if count == 1:
        raise InputError(
            "groups has one group only, and rows of a group may depend on each other. At least two "
            "groups are needed, and 20 or more for a test worth having."
        )
    few = f"there are {count} groups only: the level is approximate, and power is low"
    notes = [few] if count < FEW else []
    if 2 ** (count - 1) <= n_boot:
        patterns = f"{count} groups have {2 ** (count - 1)} patterns of signs: no p-value can be much"
        notes.append(f"{patterns} below {2.0 ** (1 - count):.3g}")
    return tuple(notes)


def stretches_of(scored: Scored | Stream, engine: Engine, size: int) -> list[FloatArray]:
    """Return scores of rows that follow each other: all of them, or some stretches of a source."""
    if isinstance(scored, Scored) and isinstance(scored.scores, np.ndarray):
        # Of times with censoring the residual; events and entries may well come in an order.
        return [scored.scores[:, :1] if scored.by == CENSORED else scored.scores]
    if isinstance(scored, Scored):  # residuals of many classes, which are made when they are asked for
        starts = np.unique(np.linspace(0, max(scored.n - size, 0), STRETCHES).astype(np.int64))
        ends = np.append(starts[1:], scored.n)  # so that stretches do not overlap
        cuts = [slice(a, min(a + size, b)) for a, b in zip(starts, ends, strict=True)]
        return [np.asarray(scored.scores[cut])[:, :COLUMNS] for cut in cuts]
    n = scored.source.n
    if n <= STRETCHES * size:
        return [scored.with_model(np.arange(n), engine)[0].scores]
    starts = np.linspace(0, n - size, STRETCHES).astype(np.int64)
    rows = np.concatenate([np.arange(start, start + size) for start in starts])
    return list(np.split(scored.with_model(np.unique(rows), engine)[0].scores, STRETCHES))


def columns_of(stretches: list[FloatArray]) -> list[list[FloatArray]]:
    """Return each column of the scores, centred, and far ones pulled in: outliers are no evidence."""
    columns = []
    for column in range(stretches[0].shape[1]):
        largest = max(float(np.abs(part[:, column]).max(initial=0.0)) for part in stretches) or 1.0
        parts = [part[:, column] / largest for part in stretches]  # so that no square overflows
        whole = np.concatenate(parts)
        some = whole[:: max(1, len(whole) // ENOUGH)]
        middle = np.median(some)
        reach = CLIP * (float(np.median(np.abs(some - middle))) or 1.0)
        columns.append(_centred([np.clip(part, middle - reach, middle + reach) for part in parts]))
    return columns


def _centred(parts: list[FloatArray]) -> list[FloatArray]:
    """Subtract the mean and divide by the largest; what is constant up to rounding becomes zeros."""
    whole = np.concatenate(parts)
    varies = whole.std() > 1e-10 * np.abs(whole).max(initial=0.0)
    moved = [(part - whole.mean()) * varies for part in parts]
    largest = max(float(np.abs(part).max(initial=0.0)) for part in moved) or 1.0
    return [part / largest for part in moved]  # so that no square vanishes


class Autocorrelation(NamedTuple):
    """Correlations r_k of n numbers with those k rows later, and t_k (or √n·r_k)."""

    n: int
    r: FloatArray
    t: FloatArray

    @classmethod
    def of(cls, parts: list[FloatArray], lags: int = LAGS) -> Autocorrelation:
        """Correlate centred numbers, in stretches of rows, with those 1 to `lags` rows later."""
        n, products = sum(map(len, parts)), _products(parts, lags)
        if products[0] == 0:
            return cls(n, np.zeros(lags), np.zeros(lags))
        squares = _products([part**2 for part in parts], lags)
        own = products[1:] / np.sqrt(np.maximum(squares[1:], 1e-12 * squares[0]))
        plain = np.sqrt(n) * products[1:] / products[0]
        k = np.arange(1, lags + 1)
        pairs = np.sum([np.maximum(len(part) - k, 0) for part in parts], axis=0)
        r = np.clip(plain * np.sqrt(n) / np.maximum(pairs, 1), -0.99, 0.99)
        return cls(n, r, np.where(np.abs(own) < np.abs(plain), own, plain))

    def reach(self, chance: float) -> float:
        """Return how far rows depend on each other, Σ k·r_k / (½ + Σ r_k); 0 where it may be chance.

        It is 2r/(1 − r²) of an AR(1) process, and k times as much where r is the correlation of rows k
        apart, of a season. The largest of these counts whose t, or mean t of multiples of the lag, is
        beyond a bound, with Bartlett's allowance for the correlations at smaller lags. Where anything is
        found, so does the sum over the first lags: many small correlations would be lost in the noise.
        """
        r, lags = np.abs(self.r), len(self.r)
        k, sums = np.arange(1, lags + 1), np.zeros(lags)
        for j in range(1, SEASONS + 1):
            sums[: lags // j] += self.t[j - 1 :: j]
        seasons = np.minimum(lags // k, SEASONS)
        lasting = np.minimum(np.abs(sums) / (seasons * np.sqrt(self.n)), 0.99)
        excess = r**2 - 1 / self.n
        noise = np.sqrt(1 + 2 * np.maximum(np.cumsum(excess) - excess, 0.0))
        bound = -ndtri(chance / 4 / (k * (k + 1.0))) * noise
        often = np.abs(sums) / np.sqrt(seasons) > bound
        sure = often | (np.abs(self.t) > bound)
        if not sure.any():
            return 0.0
        large = np.append(0, k[np.abs(self.t) > 2 * noise])
        first = large[np.append(np.diff(large) > LAGS, True)][0]
        fading = np.clip(2 - k / max(first, 0.5), 0, 1) * self.r
        single = sure * 2 * k * r / (1 - r**2)
        season = often * seasons * k * lasting / (1 - lasting**2)
        together = max(k @ fading, 0.0) / (0.5 + max(fading.sum(), 0.0))
        return float(max(single.max(), season.max(), together))


def _products(parts: list[FloatArray], lags: int) -> FloatArray:
    """Return Σ_i c_i c_{i+k} for k = 0 to `lags`."""
    if lags <= LAGS:
        shifted = [[c[k:] @ c[: max(len(c) - k, 0)] for c in parts] for k in range(lags + 1)]
        return np.asarray(np.sum(shifted, axis=1), dtype=np.float64)
    from scipy.fft import irfft, next_fast_len, rfft

    total = np.zeros(lags + 1)
    for c in parts:
        size = next_fast_len(len(c) + lags, real=True)
        total += irfft(np.abs(rfft(c, size)) ** 2, size)[: lags + 1]
    return total


def look(stretches: list[FloatArray]) -> tuple[str, ...]:
    """Warn where scores are correlated with those of the rows before them, and return it as a note."""
    if sum(map(len, stretches)) < FEW_ROWS:
        return ()
    if len(stretches[0]) > ENOUGH:  # all rows of a sample in memory
        whole, size = stretches[0], ENOUGH // STRETCHES
        starts = np.linspace(0, len(whole) - size, STRETCHES).astype(np.int64)
        stretches = [whole[start : start + size] for start in starts]
    correlations = [Autocorrelation.of(parts) for parts in columns_of(stretches)]
    # Σ t_k² is nearly χ² with as many degrees of freedom as lags.
    sums = np.array([float(one.t @ one.t) for one in correlations])
    tails = gammaincc(LAGS / 2, sums / 2) * len(sums)
    worst = int(np.argmin(tails))
    if tails[worst] >= UNLIKELY:
        return ()
    lag = int(np.argmax(np.abs(correlations[worst].t)))
    warn(
        f"The scores of rows {lag + 1} apart are correlated ({correlations[worst].r[lag]:.2f}; chance "
        f"alone gives the like with probability {max(tails[worst], 1e-99):.1g}). If rows are ordered in "
        "time, or come in groups, they depend on each other and the p-value is too small: pass "
        "dependence=, a block length, or groups=. If they are independent but sorted, by y or by a "
        "column in which the model is wrong, the p-value is right, and rows in random order do not give "
        "this warning.",
        DependenceWarning,
    )
    return (
        "scores of neighbouring rows are correlated: if rows are ordered in time or come in groups, the "
        "p-value is too small unless the test is told so (dependence, groups)",
    )


def auto_length(stretches: list[FloatArray], n: int) -> int:
    """Choose a block length: reach^⅔ · n^⅓, or 4 · reach if that is longer; 1 for independent rows.

    The first is the length at which the long-run variance is estimated best (Patton, Politis and White,
    2009). The reach is the largest of any column of scores and of their sizes |c|, since volatility
    leaves no trace in the scores themselves.
    """
    columns = columns_of(stretches)
    lags, chance = max(max(map(len, stretches)) // QUARTER, 1), CHANCE / (2 * len(columns))
    plausible = -float(ndtri(0.025 / len(columns)))  # of neighbours, less is enough: it costs little
    reach = 0.0
    for parts in columns:
        scores = Autocorrelation.of(parts, lags)
        sizes = Autocorrelation.of(_centred([np.abs(part) for part in parts]), lags)
        first = float(abs(scores.r[0]) * (abs(scores.t[0]) > plausible))
        # Sizes are skewed, and draws by signs are not: longer blocks make up for it.
        reaches = scores.reach(chance), 1.5 * sizes.reach(chance)
        reach = max(reach, 2 * first / (1 - first**2), *reaches)
    length = round(max(float(np.cbrt(reach**2 * n)), 4 * reach))
    return max(1, min(length, n // FEWEST))
