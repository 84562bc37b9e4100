"""What a parameter must be, and one way of saying that it is not."""

import math
import numbers
from typing import Any

import numpy as np

from manifill.errors import InvalidInput


def complaint(name: str, must_be: str, value: object) -> InvalidInput:
    """The error for a parameter that is not what it must be."""
    return InvalidInput(f"{name} must be {must_be}; got {value!r} of type {type(value).__name__}.")


def is_option(value: object, word: str) -> bool:
    """Is an option this word, such as "auto" or "observed"? Arrays and the like are not compared with it."""
    return isinstance(value, str) and value == word


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
    """Refuse what is not a finite (whole) number with least ≤ value ≤ most and above < value < below."""
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
    said = " and ".join(text for text, given in limits if given)
    what = "a whole number" if whole else "a finite number"
    raise complaint(name, f"{what} {said}".rstrip(), value)


def require_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise complaint(name, "True or False", value)


def as_generator(random_state: Any) -> np.random.Generator:
    """None, a seed, a RandomState or a Generator → a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None or (isinstance(random_state, numbers.Integral) and int(random_state) >= 0):
        return np.random.default_rng(None if random_state is None else int(random_state))
    raise complaint("random_state", "None, a whole number ≥ 0, or a numpy random generator", random_state)
