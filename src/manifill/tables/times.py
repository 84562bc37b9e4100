"""Dates, times and durations as numbers of microseconds, and back."""

import datetime
from typing import Any

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
DAY = 86_400e6
"""Microseconds per day; dates, times and durations are numbers of microseconds."""

TIMES = ("date", "date and time", "duration", "time")
# Range of Python's datetime, in microseconds since 1970, less a margin of at least a day at both ends.
FIRST_TIME = (datetime.datetime(1, 1, 2, tzinfo=datetime.UTC) - EPOCH) / MICROSECOND
LAST_TIME = (datetime.datetime(9999, 12, 30, tzinfo=datetime.UTC) - EPOCH) / MICROSECOND


def moment(microseconds: float) -> datetime.datetime:
    """Date and time (UTC) from microseconds since 1970, clipped to the years 1 to 9999."""
    return EPOCH + max(min(microseconds, LAST_TIME), FIRST_TIME) * MICROSECOND


def _since_epoch(value: Any) -> float:
    """Microseconds since 1970 (UTC). Without a time zone UTC is assumed; a date is read as midnight."""
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    return float((value.replace(tzinfo=value.tzinfo or datetime.UTC) - EPOCH) / MICROSECOND)


def _time_of_day(value: datetime.time) -> float:
    """Microseconds since midnight."""
    return value.hour * 3600e6 + value.minute * 60e6 + value.second * 1e6 + value.microsecond


CONVERT = {
    "date": _since_epoch,
    "date and time": _since_epoch,
    "duration": lambda value: value / MICROSECOND,
    "time": _time_of_day,
}
"""Kind of time → function that returns microseconds."""


def plain_time(holds: str, value: Any) -> float:
    """A date, time or duration in microseconds; may be an ISO string such as 2026-11-16 or 17:30."""
    if isinstance(value, str):
        kind = datetime.time if holds == "time" else datetime.datetime
        value = kind.fromisoformat(value.strip())
    return float(CONVERT[holds](value))
