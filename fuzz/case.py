"""What the generators make and the checks raise."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

# A damage of bytes: what is done, the place as a share of the length, and the new byte.
Damage = tuple[str, float, int]


@dataclass(frozen=True)
class Case:
    """One input and its options, as plain values: it can be printed, pasted and made smaller.

    Attributes
    ----------
    target : name of the module that made it and checks it.
    rows : tuples of cells. In tables, frames and files the first one describes the columns.
    form : how the rows become input, such as delimiter or format. Every key has a default.
    options : options of the command, or steps of the check; each is a tuple of the option and its values.
    """

    target: str
    rows: tuple[tuple[Any, ...], ...]
    form: dict[str, Any] = field(default_factory=dict)
    options: tuple[tuple[Any, ...], ...] = ()

    def without(self, option: str) -> "Case":
        return replace(self, options=tuple(one for one in self.options if one[0] != option))

    def option(self, name: str) -> str | None:
        """The value of an option of the command line; "" for a flag, None if it is not given."""
        return next(((*one, "")[1] for one in self.options if one[0] == name), None)


class Failure(Exception):
    """A check that did not pass: its kind, by which failures are grouped, and the details."""

    def __init__(self, kind: str, detail: object = "") -> None:
        super().__init__(kind, str(detail)[:2000])
        self.kind, self.detail = kind, str(detail)[:2000]


class Refused(Exception):
    """The input was refused as it should be: with one message and nothing else."""


def rng_of(target: str, seed: int, number: int) -> random.Random:
    """The random numbers of one case: they do not depend on other cases."""
    return random.Random(f"{target} {seed} {number}")


def some_damage(rng: random.Random) -> tuple[Damage, ...]:
    """One to four random changes of bytes."""
    kinds = [
        rng.choice(("cut", "flip", "flip", "flip", "insert", "remove")) for _ in range(rng.randint(1, 4))
    ]
    return tuple((kind, round(rng.random(), 4), rng.randrange(1, 256)) for kind in kinds)


def damaged(content: bytes, damage: Iterable[Damage]) -> bytes:
    """Bytes after the changes."""
    found = bytearray(content)
    for kind, share, byte in damage:
        place = min(int(share * len(found)), max(len(found) - 1, 0))
        if kind == "cut":
            del found[place:]
        elif kind == "insert":
            found[place:place] = bytes([byte])
        elif kind == "remove":
            del found[place : place + byte]
        elif found:
            found[place] ^= byte
    return bytes(found)


def some(
    rng: random.Random, choices: Iterable[tuple[float, Callable[[], tuple[Any, ...]]]]
) -> tuple[Any, ...]:
    """Options, each made with its probability."""
    return tuple(make() for probability, make in choices if rng.random() < probability)
