"""Checks of parameters, with error messages of one form."""

import math
import numbers
from typing import Any

import numpy as np

from manifill.errors import InvalidInput


def complaint(name: str, must_be: str, value: object) -> InvalidInput:
    """Error for a parameter with an invalid value."""
    return InvalidInput(f"{name} must be {must_be}; got {value!r} of type {type(value).__name__}.")


def is_option(value: object, option: str) -> bool:
    """Whether the value is this string option, such as "auto"; never compares arrays with a string."""
    return isinstance(value, str) and value == option


def require_number(
    name: str,
    value: object,
    *,
    least: float = -math.inf,
    most: float = math.inf,
    above: float = -math.inf,
    below: float = math.inf,
    whole: bool = False,
) -> None:
    """Raise unless value is a finite (whole) number with least ≤ value ≤ most and above < value < below."""
    kind = numbers.Integral if whole else numbers.Real
    if isinstance(value, kind) and not isinstance(value, bool | np.bool_):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number) and least <= number <= most and above < number < below:
            return
    limits = [
        (f"≥ {least:g}", least > -math.inf),
        (f"> {above:g}", above > -math.inf),
        (f"≤ {most:g}", most < math.inf),
        (f"< {below:g}", below < math.inf),
    ]
    range_text = " and ".join(text for text, given in limits if given)
    kind_text = "a whole number" if whole else "a finite number"
    raise complaint(name, f"{kind_text} {range_text}".rstrip(), value)


def require_flag(name: str, value: object) -> None:
    """Raise unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise complaint(name, "True or False", value)


def as_generator(random_state: Any) -> np.random.Generator:
    """Generator from None, a seed, a RandomState or a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or (isinstance(random_state, numbers.Integral) and int(random_state) >= 0):
        return np.random.default_rng(None if random_state is None else int(random_state))
    raise complaint("random_state", "None, a whole number ≥ 0, or a numpy random generator", random_state)
