"""Sketches of phone screens: enough of an app to look at, with the boxes of what may be touched."""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from sopbench.geometry import Box

WIDTH, HEIGHT = 540, 1200

APPS = {
    "Contacts": (
        "#2563eb",
        [
            "Ada Lovelace",
            "Grace Hopper",
            "Alan Turing",
            "Mary Jackson",
            "Edsger Dijkstra",
            "Barbara Liskov",
            "Ken Thompson",
        ],
    ),
    "Notes": (
        "#ca8a04",
        ["Groceries", "Paris hotels", "Meeting on Monday", "Books to read", "Gift ideas", "Packing list", "Recipes"],
    ),
    "Settings": (
        "#475569",
        ["Network & internet", "Connected devices", "Apps", "Notifications", "Battery", "Storage", "Display"],
    ),
    "Clock": (
        "#7c3aed",
        [
            "06:30 Weekdays",
            "07:15 Gym",
            "08:00 Weekend",
            "09:30 Stand-up",
            "12:00 Lunch",
            "18:45 Train",
            "22:00 Sleep",
        ],
    ),
    "Mail": (
        "#dc2626",
        [
            "Your invoice for May",
            "Re: travel plans",
            "Weekly digest",
            "Parcel on its way",
            "Dinner on Friday?",
            "New sign-in",
            "Welcome",
        ],
    ),
    "Shop": (
        "#059669",
        [
            "Walnut desk lamp",
            "Ceramic mug, 350 ml",
            "Linen apron",
            "Steel bottle",
            "Wool blanket",
            "Oak shelf",
            "Bread knife",
        ],
    ),
}


@dataclass
class Sketch:
    """A screen and what may be touched on it (pixels)."""

    png: bytes
    rows: list[tuple[str, Box]]


def sketch(app: str, scroll: int, typed: str = "") -> Sketch:
    colour, names = APPS[app]
    image = Image.new("RGB", (WIDTH, HEIGHT), "#f8fafc")
    draw = ImageDraw.Draw(image)
    big, mid, small = (ImageFont.load_default(size) for size in (30, 23, 17))
    draw.rectangle((0, 0, WIDTH, 40), fill=colour)
    draw.text((24, 10), "9:41", fill="white", font=small)
    draw.rounded_rectangle((480, 13, 516, 29), 5, outline="white", width=2)
    draw.rectangle((484, 17, 506, 25), fill="white")
    draw.rectangle((0, 40, WIDTH, 128), fill=colour)
    draw.text((28, 66), app, fill="white", font=big)
    draw.rounded_rectangle((24, 148, WIDTH - 24, 208), 30, fill="#e8edf3")
    draw.text((56, 166), typed or f"Search in {app.lower()}", fill="#0f172a" if typed else "#94a3b8", font=mid)
    rows = [("search", Box(24, 148, WIDTH - 24, 208))]
    for i in range(7):
        name = names[(i + scroll) % len(names)]
        top = 232 + i * 116
        draw.rounded_rectangle((24, top, WIDTH - 24, top + 100), 18, fill="white", outline="#e2e8f0", width=2)
        draw.ellipse((44, top + 22, 100, top + 78), fill=colour)
        draw.text((72, top + 50), name[0], fill="white", font=mid, anchor="mm")
        draw.text((120, top + 24), name, fill="#0f172a", font=mid)
        draw.text((120, top + 58), "Tap to open, hold for more", fill="#94a3b8", font=small)
        rows.append((name, Box(24, top, WIDTH - 24, top + 100)))
    draw.rectangle((0, 1064, WIDTH, 1200), fill="white")
    for i, name in enumerate(("Home", "Search", "You")):
        x = WIDTH * (2 * i + 1) // 6
        draw.rounded_rectangle((x - 15, 1088, x + 15, 1118), 9, fill=colour if i == 0 else "#cbd5e1")
        draw.text((x, 1140), name, fill="#475569", font=small, anchor="mm")
    draw.rounded_rectangle((190, 1180, 350, 1186), 3, fill="#0f172a")
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=3)
    return Sketch(out.getvalue(), rows)
