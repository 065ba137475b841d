"""The people whom a phone's owner knows: shared by contacts, messages and calendar, chosen by seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime

GIVEN = (
    "Anna", "Bruno", "Carla", "David", "Elena", "Felix", "Greta", "Hugo", "Iris", "Jonas", "Klara", "Leo", "Mina", "Nils",
    "Olga", "Paul", "Quinn", "Rosa", "Simon", "Tara", "Uma", "Victor", "Wanda", "Yann", "Zoe", "Amir", "Bea", "Cyril",
    "Dora", "Emil", "Fay", "Ivan", "Jade", "Kofi", "Lena", "Milo", "Nora", "Otto", "Pia", "Rafa",
)  # fmt: skip
FAMILY = (
    "Abel", "Berg", "Costa", "Dahl", "Evans", "Fox", "Gray", "Holm", "Ito", "Jones", "Kaya", "Lund", "Moss", "Nash",
    "Okoye", "Park", "Quist", "Reed", "Silva", "Tran", "Urban", "Vega", "Wolf", "Young", "Zhou", "Blake", "Chen", "Diaz",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Person:
    """A person. The full name is at most 12 letters, so that it fits a row of the large display."""

    name: str
    phone: str
    email: str

    @property
    def first(self) -> str:
        return self.name.split(" ")[0]


@dataclass(frozen=True, slots=True)
class World:
    """What several apps agree on when a phone is made."""

    people: tuple[Person, ...]
    now: datetime

    @classmethod
    def of(cls, seed: int, now: datetime, count: int = 14) -> World:
        """`count` people with different first names. Numbers are of the 555-01xx range that is kept for fiction."""
        rng = random.Random(f"world/{seed}")
        firsts = rng.sample(GIVEN, count)
        people = []
        for first, ending in zip(firsts, rng.sample(range(100), count), strict=True):
            last = rng.choice([name for name in FAMILY if len(first) + len(name) <= 11])
            people.append(Person(f"{first} {last}", f"555-01{ending:02d}", f"{first}.{last}@mail.test".lower()))
        return cls(tuple(people), now)
