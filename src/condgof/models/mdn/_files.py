"""One file for a fitted network, in the safetensors format.

Eight bytes with the length of a JSON header, the header, then the numbers: nothing that could be run.
The format is simple enough to read and write with NumPy alone, so that a file does not depend on what
is installed; other programs can open it with the safetensors library.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from condgof._typing import FloatArray
from condgof.errors import InputError
from condgof.models.mdn._model import MDN, History
from condgof.models.mdn._networks import Sizes

FORMAT = "condgof.models.mdn/1"
SHIFTS = ("x_shift", "x_scale", "y_shift", "y_scale")
LONGEST_HEADER = 1 << 20


def write_model(model: MDN, path: Path) -> None:
    """Write a model; a file that is there is replaced once the new one is complete."""
    arrays = {**model.state, **{name: getattr(model, name) for name in SHIFTS}}
    about = {
        "sizes": asdict(model.sizes),
        "x_names": model.x_names,
        "batch_size": model.batch_size,
        "history": asdict(model.history),
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


def read_model(path: Path) -> MDN:
    """Read a model, or say what is wrong with the file."""
    data = path.read_bytes()
    try:
        header, numbers = _parse(data)
        metadata = header.pop("__metadata__")
        found = metadata["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(_refusal(path, "it is not in the safetensors format")) from error
    if found != FORMAT:
        raise InputError(_refusal(path, f"its format is {found!r} and not {FORMAT!r}"))
    try:
        about = json.loads(metadata["model"])
        arrays = {name: _array(entry, numbers) for name, entry in header.items()}
        shifts = {name: arrays.pop(name) for name in SHIFTS}
        names, history = about["x_names"], about["history"]
        return MDN(
            sizes=_sizes(about["sizes"]),
            state=arrays,
            **shifts,
            x_names=None if names is None else tuple(map(str, names)),
            batch_size=about["batch_size"],
            history=History(
                tuple(history["train"]), tuple(history["validation"]), history["best_epoch"]
            ),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(_refusal(path, f"it is damaged ({error})")) from error


def _parse(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(LONGEST_HEADER, len(data) - 8):
        raise ValueError("no header")
    header = json.loads(data[8 : 8 + length])
    if not isinstance(header, dict):
        raise ValueError("no header")
    return header, data[8 + length :]


def _array(entry: dict[str, Any], numbers: bytes) -> FloatArray:
    start, end = entry["data_offsets"]
    shape = tuple(entry["shape"])
    if entry["dtype"] != "F64" or not 0 <= start <= end <= len(numbers):
        raise ValueError("numbers are missing")
    if end - start != 8 * math.prod(shape):
        raise ValueError("an array has another size than its shape says")
    return np.frombuffer(numbers[start:end], dtype="<f8").reshape(shape).astype(np.float64)


def _sizes(sizes: dict[str, Any]) -> Sizes:
    values = [sizes[name] for name in ("d_x", "d_y", "components")]
    if not all(isinstance(value, int) and value >= 1 for value in values):
        raise ValueError(f"sizes {values}")
    return Sizes(*values)


def _refusal(path: Path, why: str) -> str:
    return f"{path} is not a mixture density network that condgof saved: {why}. Save the model again."
