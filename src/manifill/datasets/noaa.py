"""Reader for NOAA's files of hourly climate normals."""

import csv
import io
from typing import Any

import numpy as np
import numpy.typing as npt

from manifill.errors import InvalidInput

# https://www.ncei.noaa.gov/pub/data/normals/1981-2010/readme.txt, "special values".
ROUNDS_TO_ZERO = -7777  # a nonzero value that rounds to zero
NO_VALUE = {
    -9999: "missing, or too few data to compute it",
    -8888: "date does not exist, such as 30 February",
    -6666: "undefined",
    -5555: "left out because it was inconsistent with another quantity",
}


def read_normals(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """The quantities (HLY-…) of a file of hourly normals, with special codes replaced.

    Returns
    -------
    X : (hours, d), NaN for missing values.
    columns, date, station : names of the d quantities, dates of the hours, and name of the station.
    rounded_to_zero : (hours, d), True where a nonzero value was rounded to zero.
    """
    lines = csv.DictReader(io.StringIO(content.decode("utf-8-sig")))
    columns = [name for name in lines.fieldnames or () if name.startswith("HLY-")]
    if not columns:
        raise InvalidInput("A file of NOAA's hourly normals must have columns HLY-…; this file has none.")
    hours = list(lines)
    try:
        raw = np.array([[float((hour[name] or "").strip() or "nan") for name in columns] for hour in hours])
    except ValueError as error:
        raise InvalidInput(
            f"The columns HLY-… of a file of NOAA's hourly normals must hold numbers; {error}."
        ) from None
    raw = raw.reshape(len(hours), len(columns))
    rounded = raw == ROUNDS_TO_ZERO
    X = np.where(np.isin(raw, list(NO_VALUE)), np.nan, np.where(rounded, 0.0, raw))
    first = hours[0] if hours else {}
    station = f"{first.get('STATION', '')} {first.get('NAME', '')}".strip()
    return {
        "X": X,
        "columns": np.array(columns),
        "date": np.array([_date(hour) for hour in hours]),
        "station": np.array(station),
        "rounded_to_zero": rounded,
    }


def _date(hour: dict[str, str]) -> str:
    """Month, day and hour, such as 01-31T13:00:00; some files have three separate columns for them."""
    if hour.get("DATE"):
        return hour["DATE"]
    return f"{int(hour['month']):02d}-{int(hour['day']):02d}T{int(hour['hour']):02d}:00:00"
