"""What the shop can sell: invented goods, their prices and pictures. A new phone's shop has some of each category."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

CATEGORIES = {"kitchen": "Kitchen", "clothes": "Clothes", "home": "Home", "tech": "Tech", "garden": "Garden"}
HUES = {"kitchen": "#D9662B", "clothes": "#5B6CE0", "home": "#2A9D73", "tech": "#3A7FC4", "garden": "#6D7F3C"}
SIZES = ("S", "M", "L")

GOODS: dict[str, tuple[tuple[str, str, int, str], ...]] = {
    "kitchen": (
        ("Tea pot", "cup", 24, "Stoneware that keeps a litre of tea warm for an hour."),
        ("Milk jug", "cup", 14, "A small jug with a spout that does not drip."),
        ("Soup bowl", "cup", 9, "Deep, glazed inside and out. Safe in the oven."),
        ("Oil bottle", "bottle", 17, "Dark glass with a pouring cork."),
        ("Water flask", "bottle", 22, "Steel, half a litre. Cold for a day."),
        ("Cook book", "book", 28, "Ninety dishes with five ingredients each."),
    ),
    "clothes": (
        ("T-shirt", "shirt", 19, "Heavy cotton, cut straight."),
        ("Jumper", "shirt", 54, "Soft lambswool with a round neck."),
        ("Sneakers", "shoe", 79, "Canvas uppers on a rubber sole."),
        ("Hiking boots", "shoe", 129, "Waterproof leather for long days."),
        ("Rain coat", "shirt", 88, "Taped seams, a deep hood and two dry pockets."),
        ("Slippers", "shoe", 26, "Felt, with a sole that does not slip."),
    ),
    "home": (
        ("Desk lamp", "lamp", 45, "Turns and bends; warm light in three steps."),
        ("Floor lamp", "lamp", 99, "A tall lamp with a linen shade."),
        ("Arm chair", "chair", 189, "Oak frame, a cushion in grey wool."),
        ("Stool", "chair", 39, "Three legs, so that it never wobbles."),
        ("Wall clock", "clock", 34, "Plain figures and a silent movement."),
        ("Gift set", "gift", 30, "Two candles and a box of matches."),
    ),
    "tech": (
        ("Headphones", "headphones", 119, "Over the ear; thirty hours on one charge."),
        ("Smart watch", "watch", 149, "Steps, pulse and sleep on your wrist."),
        ("Camera", "camera", 259, "Small, light and quick in the dark."),
        ("Keyboard", "keyboard", 69, "Quiet keys, for three devices at once."),
        ("Microphone", "mic", 85, "For calls and songs. Stands on your desk."),
        ("Night light", "bulb", 12, "Plugs in and glows when it is dark."),
    ),
    "garden": (
        ("Fern", "plant", 16, "Likes shade and a moist pot."),
        ("Cactus", "plant", 8, "Needs sun and little else."),
        ("Herb box", "box", 21, "Basil, thyme and parsley to sow."),
        ("Tool bag", "bag", 33, "Canvas with six pockets."),
        ("Sun hat", "sun", 18, "Wide brim, folds flat."),
        ("Lemon tree", "plant", 47, "A metre high, in a clay pot."),
    ),
}
"""Name (at most twelve letters), icon, usual price in dollars, and a sentence."""

BLURBS = {name: blurb for goods in GOODS.values() for name, _, _, blurb in goods}


@dataclass(slots=True)
class Product:
    """Something to buy. `price` is in dollars, `rating` in tenths of stars; only clothes have sizes."""

    id: str
    name: str
    category: str
    icon: str
    price: int
    rating: int
    sizes: list[str] = field(default_factory=list)


def pick_products(rng: random.Random, each: int = 4) -> list[Product]:
    """`each` products of every category. Prices differ a little from shop to shop, and no two are the same."""
    products: list[Product] = []
    taken: set[int] = set()
    for category, goods in GOODS.items():
        for name, icon, usual, _ in sorted(rng.sample(goods, each)):
            price = usual + rng.randint(-usual // 6, usual // 6)
            while price in taken:
                price += 1
            taken.add(price)
            sizes = list(SIZES) if category == "clothes" else []
            products.append(Product(f"p{len(products)}", name, category, icon, price, rng.randint(32, 50), sizes))
    return products
