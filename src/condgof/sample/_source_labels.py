"""A column of a source as labels, which need not be numbers."""

from __future__ import annotations

import numpy as np

from condgof._typing import IntArray
from condgof.errors import NonFiniteError
from condgof.sample._columns import DROP
from condgof.sample._source import Source
from condgof.sample._source_read import arrow, check_columns, read


def labels_of(source: Source, name: str) -> tuple[tuple[str, ...], IntArray]:
    r"""Read one column of all rows as labels.

    Parameters
    ----------
    source : Source
        The files.
    name : str
        The column, of numbers, text, categories or truth values; nulls are an error.

    Returns
    -------
    labels : tuple of str
        The different values, in the order in which they come.
    codes : ndarray of int, shape (n,)
        For each row the position of its label.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from condgof.sample import scan
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sample.csv"
    >>> _ = path.write_text("x,y,city\n1,2,Oslo\n2,3,Rome\n3,5,Oslo\n")
    >>> labels, codes = labels_of(scan(path, x="x", y="y"), "city")
    >>> labels, codes.tolist()
    (('Oslo', 'Rome'), [0, 1, 0])
    """
    pa = arrow()
    known: dict[str, int] = {}
    codes = np.empty(source.n, dtype=np.int64)
    for file in source.files:
        check_columns(file.path, file.format, (name,), text=True)
        for row, batch in read(file, 0, file.rows, (name,), text=True):
            column = batch.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            start = file.start + row
            if column.null_count:
                first = start + int(np.argmax(np.asarray(column.is_null())))
                raise NonFiniteError(
                    f"Column {name!r} of {file.path} is null in row {first} of all rows (counted from "
                    f"0). {DROP}",
                    count=int(column.null_count),
                    first_row=first,
                )
            encoded = column.cast(pa.string()).dictionary_encode()
            own = [known.setdefault(text, len(known)) for text in encoded.dictionary.to_pylist()]
            part = np.asarray(own, dtype=np.int64)[np.asarray(encoded.indices)]
            codes[start : start + len(part)] = part
    return tuple(known), codes
