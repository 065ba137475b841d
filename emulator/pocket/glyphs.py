"""Icons, drawn by us as strokes and shapes on a 24 x 24 grid, rendered to masks of any size.

A glyph is a string of commands separated by `;`, coordinates in grid units, y downwards:

    l x,y x,y ..       stroke a polyline, round caps        p x,y x,y ..          fill a polygon
    c cx,cy,r          stroke a circle                      d cx,cy,r             fill a disc
    r x1,y1,x2,y2,rad  stroke a rounded rectangle           f x1,y1,x2,y2,rad     fill one
    a cx,cy,r,from,to  stroke an arc, degrees clockwise from three o'clock
    w width            set the stroke width (2 at the start)

A capital letter does the same and erases.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

from PIL import Image, ImageDraw

from emulator.pocket.fonts import shade_table

GRID = 24
OVERSAMPLE = 4

_STAR = "12,2.6 14.8,8.8 21.5,9.6 16.5,14.2 17.9,20.9 12,17.5 6.1,20.9 7.5,14.2 2.5,9.6 9.2,8.8 12,2.6"
_DROP = "12,20.5 4.2,12.6 3,9.6 3.6,6.6 6,4.4 9,4.4 12,7 15,4.4 18,4.4 20.4,6.6 21,9.6 19.8,12.6 12,20.5"

GLYPHS: dict[str, str] = {
    # moving about
    "back": "l 20,12 4.5,12;l 11,5.5 4.5,12 11,18.5",
    "forward": "l 4,12 19.5,12;l 13,5.5 19.5,12 13,18.5",
    "chevron": "l 9,5.5 15.5,12 9,18.5",
    "left": "l 15,5.5 8.5,12 15,18.5",
    "up": "l 5.5,15 12,8.5 18.5,15",
    "down": "l 5.5,9 12,15.5 18.5,9",
    "nav_back": "p 17,4.5 17,19.5 5.5,12;l 17,4.5 17,19.5 5.5,12 17,4.5",
    "nav_home": "w 2.4;c 12,12,8",
    "nav_recents": "w 2.4;r 4.6,4.6,19.4,19.4,3",
    "close": "l 6,6 18,18;l 18,6 6,18",
    "check": "w 2.4;l 4.5,12.5 9.8,17.8 19.5,7",
    "plus": "w 2.4;l 12,4.5 12,19.5;l 4.5,12 19.5,12",
    "minus": "w 2.4;l 4.5,12 19.5,12",
    "more": "d 12,5,2;d 12,12,2;d 12,19,2",
    "search": "w 2.2;c 10.5,10.5,6.4;l 15.4,15.4 20.3,20.3",
    "edit": "l 4,20 5,15.6 16.2,4.4 19.6,7.8 8.4,19 4,20;l 13.6,7 17,10.4",
    "trash": "l 4,6.5 20,6.5;l 9,6.2 9,3.6 15,3.6 15,6.2;l 6,6.8 7,20.4 17,20.4 18,6.8;l 10,10.5 10,16.5;l 14,10.5 14,16.5",
    "share": "c 6,12,2.6;c 17.6,5.6,2.6;c 17.6,18.4,2.6;l 8.4,10.8 15.2,6.8;l 8.4,13.2 15.2,17.2",
    "star": f"l {_STAR}",
    "star_full": f"p {_STAR};l {_STAR}",
    "heart": f"l {_DROP}",
    "heart_full": f"p {_DROP};l {_DROP}",
    "pin": "p 8.4,3 15.6,3 14.8,10 18,14 6,14 9.2,10;l 8.4,3 15.6,3 14.8,10 18,14 6,14 9.2,10 8.4,3;l 12,14 12,21",
    "filter": "l 3.5,5 20.5,5 14,12.6 14,18.6 10,20.4 10,12.6 3.5,5",
    "sort": "l 4,6.5 20,6.5;l 4,12 15,12;l 4,17.5 10,17.5",
    "menu": "l 4,6.5 20,6.5;l 4,12 20,12;l 4,17.5 20,17.5",
    "list": "d 4.6,6,1.4;d 4.6,12,1.4;d 4.6,18,1.4;l 9,6 20,6;l 9,12 20,12;l 9,18 20,18",
    "copy": "r 8.5,8.5,20,20,2.5;l 5.2,15.5 4,15.5 4,4 15.5,4 15.5,5.2",
    "download": "l 12,3.5 12,15;l 6.5,9.8 12,15.3 17.5,9.8;l 4,20 20,20",
    "move": "l 3.5,19 3.5,5 9,5 11,7.5 20.5,7.5 20.5,19 3.5,19;l 8,13.2 15.5,13.2;l 12.6,10.4 15.6,13.2 12.6,16",
    "undo": "l 8.5,4 4,8.5 8.5,13;l 4.4,8.5 14,8.5;a 14,13.5,5,270,90;l 14,18.5 8,18.5",
    # the device
    "wifi": "d 12,18.6,1.9;a 12,19,6.4,222,318;a 12,19,11,222,318;a 12,19,15.4,224,316",
    "bluetooth": "l 6.5,7.5 17,16.5 12,21 12,3 17,7.5 6.5,16.5",
    "plane": "p 21,15.6 21,13.6 13.6,9 13.6,4.2 12,2.4 10.4,4.2 10.4,9 3,13.6 3,15.6 10.4,13.4 10.4,18 8.2,19.6 8.2,21.2 12,20.2 "
    "15.8,21.2 15.8,19.6 13.6,18 13.6,13.4",
    "moon": "d 12,12,9;D 16.4,9,7.6",
    "sun": "d 12,12,4.6;l 12,2.6 12,4.4;l 12,19.6 12,21.4;l 2.6,12 4.4,12;l 19.6,12 21.4,12;l 5.4,5.4 6.6,6.6;l 17.4,17.4 18.6,18.6;"
    "l 5.4,18.6 6.6,17.4;l 17.4,6.6 18.6,5.4",
    "volume": "p 3.5,9.4 8,9.4 13,5 13,19 8,14.6 3.5,14.6;l 3.5,9.4 8,9.4 13,5 13,19 8,14.6 3.5,14.6 3.5,9.4;a 13,12,4,310,50;a 13,12,8,312,48",
    "mute": "p 3.5,9.4 8,9.4 13,5 13,19 8,14.6 3.5,14.6;l 16.5,9.5 21,14.5;l 21,9.5 16.5,14.5",
    "display": "r 6,2.8,18,21.2,3;l 10.5,18 13.5,18",
    "text": "l 2.8,19 8.4,5 14,19;l 4.9,14.2 11.9,14.2;l 15,19 18.2,11 21.4,19;l 16.2,16.4 20.2,16.4",
    "globe": "c 12,12,9;l 3.2,12 20.8,12;a 5.4,12,11,306,54;a 18.6,12,11,126,234",
    "info": "c 12,12,9;l 12,11.2 12,16.4;d 12,7.8,1.4",
    "battery": "r 3,7,19,17,2.5;f 5.4,9.4,14,14.6,1;l 21.4,10.6 21.4,13.4",
    "bell": "l 5,17.4 6.6,15 6.6,10.4 8.2,6.8 12,5.2 15.8,6.8 17.4,10.4 17.4,15 19,17.4 5,17.4;a 12,17.8,3,20,160;d 12,4,1.5",
    "lock": "f 4.8,10.5,19.2,20.8,2.5;a 12,10,4.6,180,360;l 7.4,10 7.4,11.5;l 16.6,10 16.6,11.5;D 12,15.4,1.8",
    "gear": "w 3.4;l 12,2.8 12,21.2;l 4.03,7.4 19.97,16.6;l 4.03,16.6 19.97,7.4;d 12,12,7;D 12,12,3.1",
    "location": "d 12,9.6,6.8;p 5.9,12.8 18.1,12.8 12,21.8;D 12,9.6,2.7",
    "camera": "f 2.6,7,21.4,19.8,3;p 8,7.4 9.6,4.4 14.4,4.4 16,7.4;C 12,13.2,3.4",
    "keyboard": "r 2.6,6,21.4,18,2.5;d 7,10,1.2;d 12,10,1.2;d 17,10,1.2;l 8,14.4 16,14.4",
    # people and talk
    "user": "d 12,7.4,4.6;f 3.4,14,20.6,28,7;F 2,21,22,29,0",
    "users": "d 17,8.6,3;f 14,13.6,22.6,24,5;D 8.8,8,5.2;F 1,12.4,17,24,6;d 8.8,8,3.9;f 1.6,13.8,16,26,6;F 0,20,24,28,0",
    "phone": "w 4;l 6,4.6 6.4,8 8.2,12 12,15.8 16,17.6 19.4,18;d 6.2,5.4,2.5;d 18.6,17.8,2.5",
    "mail": "r 2.8,5.2,21.2,18.8,2.5;l 3.6,7 12,13 20.4,7",
    "chat": "f 2.8,3.6,21.2,17,4;p 6,15 6,21.4 12.6,16;D 8,10.3,1.3;D 12,10.3,1.3;D 16,10.3,1.3",
    "send": "p 3,3.8 21.6,12 3,20.2 5.4,12;L 6,12 13,12",
    # time
    "clock": "c 12,12,9;l 12,6.8 12,12 15.8,14.2",
    "alarm": "c 12,13,7.6;l 12,9 12,13 14.8,14.8;l 2.8,6.4 6.4,3.2;l 21.2,6.4 17.6,3.2",
    "timer": "l 6,3 18,3;l 6,21 18,21;l 7.4,3.4 7.4,6.6 12,12 16.6,6.6 16.6,3.4;l 7.4,20.6 7.4,17.4 12,12 16.6,17.4 16.6,20.6;"
    "p 9,19.8 12,16 15,19.8",
    "stopwatch": "c 12,13.4,7.6;l 12,9.4 12,13.4;l 9.6,2.6 14.4,2.6;l 18.6,6.2 20,7.6",
    "calendar": "r 3.4,4.8,20.6,20.6,3;l 3.6,9.8 20.4,9.8;l 8,2.6 8,6;l 16,2.6 16,6;f 7,12.6,10.4,16,.8",
    "history": "a 12,12,8.6,215,170;l 3,4.6 4.6,9 9,7.6;l 12,7.2 12,12 15.6,14",
    "repeat": "l 17,2.8 20.4,6 17,9.2;l 20,6 4,6 4,11;l 7,14.8 3.6,18 7,21.2;l 4,18 20,18 20,13",
    # things on paper
    "note": "r 4,2.8,20,21.2,3;l 8,8 16,8;l 8,12 16,12;l 8,16 12.6,16",
    "folder": "p 2.8,5.6 9,5.6 11.2,8.2 21.2,8.2 21.2,19 2.8,19;l 2.8,5.6 9,5.6 11.2,8.2 21.2,8.2 21.2,19 2.8,19 2.8,5.6",
    "file": "l 5.4,2.8 14,2.8 18.8,7.6 18.8,21.2 5.4,21.2 5.4,2.8;l 13.6,3.2 13.6,8 18.4,8",
    "image": "r 2.8,4,21.2,20,3;d 8.2,9.2,1.9;p 4.6,18.4 10.4,12.4 13.4,15.4 16,12.8 19.6,16.6 19.6,18.4",
    "video": "f 2.4,6,15.6,18,3;p 17,11 21.8,8 21.8,16 17,13",
    "archive": "f 2.8,4,21.2,8.6,1.4;r 4.4,8,19.6,20.4,2;l 9.6,12 14.4,12",
    "book": "l 12,6 4,4.4 4,18.6 12,20.4 20,18.6 20,4.4 12,6;l 12,6 12,20.4",
    "tag": "p 3,3 12.4,3 21,11.8 12,21 3,12;L 7.6,7.6 7.6,7.6;D 7.6,7.6,1.8",
    "bulb": "d 12,9.4,6.4;p 8.6,13.8 15.4,13.8 14.6,17.4 9.4,17.4;l 10,20.6 14,20.6",
    # shop
    "cart": "l 2.4,4 5.4,4 7.8,15.6 18.6,15.6 20.8,7.4 6.2,7.4;d 9,19.4,1.9;d 17.2,19.4,1.9",
    "bag": "f 4,8,20,21.2,3;a 12,8.4,4,180,360;L 8.6,11.6 8.6,11.6;L 15.4,11.6 15.4,11.6",
    "box": "l 12,2.8 20.4,7.2 20.4,16.8 12,21.2 3.6,16.8 3.6,7.2 12,2.8;l 3.8,7.4 12,11.8 20.2,7.4;l 12,11.8 12,21",
    "truck": "f 1.8,5.4,13.4,16.4,1.5;p 14.4,9 18.8,9 22.2,12.8 22.2,16.4 14.4,16.4;d 6.6,17.6,2.5;d 17.6,17.6,2.5;D 6.6,17.6,.9;D 17.6,17.6,.9",
    "card": "f 2.4,4.8,21.6,19.2,3;F 2.4,8.6,21.6,11.2,0;L 6,15.4 10,15.4",
    "gift": "f 2.8,7.2,21.2,11.4,1.4;f 4.4,12.4,19.6,21.2,1.6;L 12,7.4 12,21;c 9,4.8,2.2;c 15,4.8,2.2",
    "cup": "f 4,5.4,16.4,18.8,4;F 4,1,16.4,4,0;c 17,10.4,3.2;F 4.6,5.4,4.6,5.4,0;l 3,21.2 18,21.2",
    "lamp": "p 8,3 16,3 19.4,12.6 4.6,12.6;l 12,12.6 12,20.6;l 7.4,20.8 16.6,20.8",
    "shoe": "p 2.8,7 8,7 11,11.6 18.6,13.6 21.4,16 21.4,17.4 2.8,17.4;l 2.8,20 21.4,20",
    "shirt": "p 8.4,3 9.8,5 14.2,5 15.6,3 21.6,6.8 19.4,11.4 17,10.4 17,21 7,21 7,10.4 4.6,11.4 2.4,6.8",
    "plant": "p 7,15 17,15 15.8,21.4 8.2,21.4;l 12,15 12,8;d 8.6,7.4,3.4;d 15.6,5.4,3;p 12,12.4 12,9 6,5.6",
    "headphones": "a 12,12.6,8.6,180,360;f 2.4,12.4,7.4,20.6,2;f 16.6,12.4,21.6,20.6,2",
    "watch": "f 8.4,1.8,15.6,22.2,1.6;d 12,12,7.2;D 12,12,5;l 12,9 12,12 14,13",
    "bottle": "f 9.6,2,14.4,5.4,1;f 7.4,7.4,16.6,22,3;p 9.8,5 14.2,5 15.6,8.6 8.4,8.6;F 7.4,12.6,16.6,14,0",
    "chair": "f 6,2.8,18,11.4,2;f 4.4,12.8,19.6,16,1.2;l 6.4,16 6.4,21;l 17.6,16 17.6,21",
    # music
    "music": "d 7.4,17.6,3.3;d 17,15.6,3.3;l 9.8,17.4 9.8,5.6 19.4,3.6 19.4,15.4;p 9.8,5.6 19.4,3.6 19.4,7.4 9.8,9.4",
    "play": "p 7.4,4.4 19.4,12 7.4,19.6;l 7.4,4.4 19.4,12 7.4,19.6 7.4,4.4",
    "pause": "f 5.8,4,10,20,1.6;f 14,4,18.2,20,1.6",
    "stop": "f 5.4,5.4,18.6,18.6,2.4",
    "next": "p 5,4.8 15.4,12 5,19.2;l 5,4.8 15.4,12 5,19.2 5,4.8;f 16.8,4,19.6,20,1.2",
    "prev": "p 19,4.8 8.6,12 19,19.2;l 19,4.8 8.6,12 19,19.2 19,4.8;f 4.4,4,7.2,20,1.2",
    "shuffle": "l 3,6 7,6 16,18 20.4,18;l 3,18 7,18 9.4,14.8;l 13.6,9.2 16,6 20.4,6;l 18,3 21,6 18,9;l 18,15 21,18 18,21",
    "playlist": "l 3.4,6 16,6;l 3.4,11 12,11;l 3.4,16 9,16;d 15,18,2.8;l 17.2,18 17.2,9.6 21,11",
    "mic": "f 8.6,2.4,15.4,14.4,3.4;a 12,11.4,6.8,10,170;l 12,18.4 12,21.4",
    # keys and arithmetic
    "backspace": "l 8.2,5 21.4,5 21.4,19 8.2,19 2.4,12 8.2,5;l 11.6,9.4 16.8,14.6;l 16.8,9.4 11.6,14.6",
    "enter": "l 20,5 20,12.6 4.6,12.6;l 9.8,7.4 4.6,12.6 9.8,17.8",
    "shift": "l 12,3.4 20.6,12.4 15.8,12.4 15.8,20.4 8.2,20.4 8.2,12.4 3.4,12.4 12,3.4",
    "shift_full": "p 12,3.4 20.6,12.4 15.8,12.4 15.8,20.4 8.2,20.4 8.2,12.4 3.4,12.4;"
    "l 12,3.4 20.6,12.4 15.8,12.4 15.8,20.4 8.2,20.4 8.2,12.4 3.4,12.4 12,3.4",
    "space": "w 2.4;l 4,10 4,15 20,15 20,10",
    "divide": "w 2.4;l 4.6,12 19.4,12;d 12,6,1.9;d 12,18,1.9",
    "multiply": "w 2.4;l 6.4,6.4 17.6,17.6;l 17.6,6.4 6.4,17.6",
    "equals": "w 2.4;l 4.6,8.6 19.4,8.6;l 4.6,15.4 19.4,15.4",
    "percent": "l 18.4,5 5.6,19;c 7,7,2.7;c 17,17,2.7",
    "calculator": "r 4.4,2.6,19.6,21.4,3;f 7.4,5.8,16.6,9.4,1;d 8.8,13,1.3;d 12,13,1.3;d 15.2,13,1.3;d 8.8,17.2,1.3;d 12,17.2,1.3;d 15.2,17.2,1.3",
    "question": "a 12,8.8,4.6,180,80;l 12.6,13.3 12,14.8;d 12,19,1.5",
}


@lru_cache(maxsize=1024)
def mask(name: str, size: int) -> Image.Image:
    """The glyph as an "L" image of `size` x `size` pixels. Raises `KeyError` for a name that is not in `GLYPHS`."""
    scale = size * OVERSAMPLE / GRID
    image = Image.new("L", (size * OVERSAMPLE, size * OVERSAMPLE), 0)
    pen = _Pen(ImageDraw.Draw(image), scale)
    for command in GLYPHS[name].split(";"):
        verb, _, rest = command.strip().partition(" ")
        numbers = [float(number) for number in rest.replace(",", " ").split()]
        pen.run(verb, numbers)
    return image.reduce(OVERSAMPLE).point(shade_table())


class _Pen:
    def __init__(self, draw: ImageDraw.ImageDraw, scale: float) -> None:
        self.draw, self.scale, self.stroke = draw, scale, 2.0

    def run(self, verb: str, raw: list[float]) -> None:
        ink = 0 if verb.isupper() else 255
        kind = verb.lower()
        if kind == "w":
            self.stroke = raw[0]
            return
        values = [number * self.scale for number in raw]
        points = list(zip(values[::2], values[1::2], strict=False))
        wide = self.stroke * self.scale
        if kind == "l":
            self._line(points, wide, ink)
        elif kind == "p":
            self.draw.polygon(points, fill=ink)
        elif kind in "cd":
            x, y, radius = values
            self._disc(x, y, radius + (wide / 2 if kind == "c" else 0), ink)
            if kind == "c":
                self._disc(x, y, radius - wide / 2, 255 - ink)
        elif kind in "rf":
            x1, y1, x2, y2, radius = values
            if kind == "f":
                self.draw.rounded_rectangle((x1, y1, x2, y2), radius, fill=ink)
            else:
                half = wide / 2
                outer = (x1 - half, y1 - half, x2 + half, y2 + half)
                self.draw.rounded_rectangle(outer, radius + half, outline=ink, width=round(wide))
        elif kind == "a":
            x, y, radius = values[:3]
            self._arc(x, y, radius, raw[3], raw[4], wide, ink)

    def _disc(self, x: float, y: float, radius: float, ink: int) -> None:
        self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=ink)

    def _line(self, points: list[tuple[float, float]], wide: float, ink: int) -> None:
        for start, end in pairwise(points):
            self.draw.line((start, end), fill=ink, width=round(wide))
        for x, y in points:
            self._disc(x, y, wide / 2, ink)

    def _arc(self, x: float, y: float, radius: float, start: float, end: float, wide: float, ink: int) -> None:
        if end < start:
            end += 360
        steps = max(2, round((end - start) / 6))
        angles = [math.radians(start + (end - start) * i / steps) for i in range(steps + 1)]
        # Rounded, so that a last bit of difference between two math libraries cannot move a pixel.
        points = [(round(x + radius * math.cos(a), 3), round(y + radius * math.sin(a), 3)) for a in angles]
        self._line(points, wide, ink)
