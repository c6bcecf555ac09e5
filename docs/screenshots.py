"""Pictures of reports: python docs/screenshots.py writes docs/images/report-*.png.

Five reports on simulated data (a continuous y, counts, classes, censored times, quantiles),
light and dark, on a wide screen and on a phone; and the top of that of the README's
example.
Needs chromium, playwright, pandas and pillow.
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
from PIL import Image
from playwright.sync_api import sync_playwright

import condgof as cg

IMAGES = Path(__file__).parent / "images"
#: The report whose top alone is shown, by the README and the home page.
TOP_REPORT = "engel"
#: Widths of a wide screen and of a phone, in pixels.
WIDE = 1280
PHONE = 390
#: Height of the screen that the page is laid out for, in pixels.
SCREEN_HEIGHT = 900
#: How much of a report is shown, in pixels.
SHOWN_HEIGHT = 2300
#: How much of it they show, in pixels: down to the first effect, as wide as their text, so
#: that letters are not made smaller.
TOP_WIDTH = 920
TOP_HEIGHT = 690
#: Colours of a PNG file; more make it larger, and no picture better.
COLOURS = 256
#: How they are chosen: so that rare ones, of the verdict and of dots, stay what they are.
METHOD = Image.Quantize.MAXCOVERAGE


def people(n, rng):
    """Return columns of each kind."""
    return pd.DataFrame(
        {
            "age": rng.integers(18, 81, n),
            "education": pd.Categorical.from_codes(
                rng.choice(4, n, p=[0.2, 0.4, 0.25, 0.15]),
                ["school", "college", "degree", "doctorate"],
                ordered=True,
            ),
            "year": rng.integers(2015, 2025, n),
            "distance": rng.lognormal(1.5, 0.8, n).round(1),
            "married": rng.random(n) < 0.5,
            "region": rng.choice(["north", "south", "east", "west"], n),
        }
    )


def engel(rng):
    """Food given income, a line with one spread: the example of the README."""
    income, food = cg.study.load_engel()
    homes = pd.DataFrame({"income": income, "food": food})
    train, test = homes[::2], homes[1::2]
    model = cg.fits.ols()(train[["income"]], train["food"])
    return model, test[["income"]], test["food"]


def continuous(rng):
    """Wages: noisier for doctorates, and above a straight line in the middle of life."""
    x = people(2000, rng)
    school = x["education"].cat.codes
    line = 60 + 12 * school + 0.4 * (x["age"] - 18)
    middle = x["age"].between(34, 49) & x["married"]
    noise = 14 * np.where(school == 3, 1.7, 0.8) * rng.standard_normal(len(x))
    wage = pd.Series(line + 9 * middle + noise, name="wage")
    return (line, np.full(len(x), 14.0)), x, wage


def classes(rng):
    """A classifier that is overconfident for old people."""
    x = people(2000, rng)
    logits = np.column_stack(
        [0.03 * (x["age"] - 50), np.log(x["distance"]) - 1.5, 0.5 * x["married"]]
    )
    logits += rng.standard_normal(logits.shape)
    sharper = np.where(x["age"] > 60, 2.5, 1.0)[:, None]
    truth = softmax(logits)
    predicted = softmax(logits * sharper)
    names = np.array(["bus", "car", "train"])
    codes = (truth.cumsum(axis=1) < rng.random((len(x), 1))).sum(axis=1)
    y = pd.Series(names[np.minimum(codes, 2)], name="travels by")
    return cg.probabilities(predicted, classes=names.tolist()), x, y


def softmax(logits):
    """Return probabilities, (n, k), of logits, (n, k)."""
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


def counts(rng):
    """Visits: more zeros in the west, and longer tails than Poisson's."""
    x = people(2000, rng)
    mean = np.exp(0.6 + 0.012 * (x["age"] - 40)).to_numpy()
    y = rng.poisson(mean * rng.gamma(3.0, 1 / 3.0, len(x)))
    y[(x["region"] == "west") & (rng.random(len(x)) < 0.35)] = 0
    return cg.models.Poisson(mean=mean), x, pd.Series(y, name="visits")


def survival(rng):
    """Times in weeks: old people leave sooner than predicted."""
    x = people(2000, rng)
    scale = np.exp(3 + 0.01 * (x["age"] - 50)).to_numpy()
    times = scale * rng.exponential(size=2000) / np.where(x["age"] > 60, 1.8, 1.0)
    ends = rng.uniform(5, 60, 2000)
    y = pd.Series(np.minimum(times, ends), name="weeks")
    return cg.models.Exponential(scale=scale), x, y, {"event": times <= ends}


def quantiles(rng):
    """Delays: quantiles of one width, where delays spread more in old age."""
    x = people(2000, rng)
    age = x["age"].to_numpy()
    centre = 50 + 0.5 * age
    y = centre + (5 + 0.25 * (age - 18)) * rng.standard_normal(2000)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    widths = 12 * np.array([NormalDist().inv_cdf(level) for level in levels])
    model = cg.from_quantiles(centre[:, None] + widths, levels=levels)
    return model, x, pd.Series(y, name="delay")


def photograph(tab, width, height):
    """Return a picture, PNG, of the top of a page, or of all of it if it is shorter."""
    whole = tab.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, whole)}
    return tab.screenshot(clip=clip, full_page=True)


def write(name, picture):
    """Write a PNG of few colours."""
    out = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image = image.quantize(COLOURS, method=METHOD)
    image.save(out, "PNG", optimize=True)
    path = IMAGES / f"{name}.png"
    path.write_bytes(out.getvalue())
    sys.stdout.write(f"{path} {len(out.getvalue()) // 1000} kB\n")


def write_pictures(browser, page, name):
    """Write pictures of a report: light and dark, on a wide screen and on a phone."""
    for theme in ("light", "dark"):
        shots = {
            f"report-{name}-{theme}-{WIDE}": (WIDE, SHOWN_HEIGHT),
            f"report-{name}-{theme}-{PHONE}": (PHONE, SHOWN_HEIGHT),
        }
        if name == TOP_REPORT:
            shots = {
                f"report-top-{theme}": (TOP_WIDTH, TOP_HEIGHT),
                f"report-top-{theme}-{PHONE}": (PHONE, TOP_HEIGHT),
            }
        for file, (width, height) in shots.items():
            tab = browser.new_page(
                viewport={"width": width, "height": SCREEN_HEIGHT}, color_scheme=theme
            )
            tab.goto(page.as_uri())
            write(file, photograph(tab, width, height))
            tab.close()


def main():
    """Write all pictures."""
    IMAGES.mkdir(exist_ok=True)
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=["--no-sandbox"]
        )
        for make in (engel, continuous, counts, classes, survival, quantiles):
            model, x, y, *more = make(np.random.default_rng(0))
            options = more[0] if more else {}
            report = cg.check(model, x, y, rng=0, **options)
            page = Path(folder) / f"{make.__name__}.html"
            page.write_text(report.to_html(), encoding="utf-8")
            write_pictures(browser, page, make.__name__)
        browser.close()


if __name__ == "__main__":
    main()
