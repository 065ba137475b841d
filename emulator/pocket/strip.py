"""A film strip: the screens of a task as its expert plays it, with marks where it touches."""

from __future__ import annotations

from PIL import Image, ImageDraw

from emulator.pocket import fonts
from emulator.pocket.tasks import Move, PocketSession
from sopbench.actions import Click, LongPress, Swipe
from sopbench.geometry import Point, Size

GAP = 24
CAPTION = 64
PER_ROW = 6
MARK = "#E5484D"


def film_strip(session: PocketSession, width: int = 320) -> tuple[Image.Image, list[Move]]:
    """Play the session to its end. Screens stand in rows, `width` pixels wide each, under what is done next."""
    frames: list[Image.Image] = []
    moves: list[Move] = []
    for move in session.moves():
        moves.append(move)
        frames.append(_frame(session.phone.screen(), move, len(moves), width))
    tall = frames[0].height
    rows = -(-len(frames) // PER_ROW)
    across = min(PER_ROW, len(frames))
    strip = Image.new("RGB", (GAP + across * (width + GAP), GAP + rows * (tall + GAP)), "#FFFFFF")
    for i, frame in enumerate(frames):
        strip.paste(frame, (GAP + i % PER_ROW * (width + GAP), GAP + i // PER_ROW * (tall + GAP)))
    return strip, moves


def _frame(screen: Image.Image, move: Move, number: int, width: int) -> Image.Image:
    size = Size(screen.width, screen.height)
    pen = ImageDraw.Draw(screen)
    match move.action:
        case Click(point) | LongPress(point):
            _ring(pen, point, size)
        case Swipe(start, end):
            pen.line([start.to_pixels(size), end.to_pixels(size)], fill=MARK, width=8)
            _ring(pen, end, size)
    scale = width / screen.width
    small = screen.resize((width, round(screen.height * scale)), Image.Resampling.LANCZOS)
    frame = Image.new("RGB", (width, small.height + CAPTION), "#FFFFFF")
    frame.paste(small, (0, CAPTION))
    caption = ImageDraw.Draw(frame)
    font = fonts.font(18)
    words = fonts.wrap(f"{number}. {move.instruction}", 18, fonts.MEDIUM, width)[:2]
    for i, line in enumerate(words):
        caption.text((0, 6 + i * 26), line, font=font, fill="#202430")
    return frame


def _ring(pen: ImageDraw.ImageDraw, point: Point, size: Size) -> None:
    x, y = point.to_pixels(size)
    pen.ellipse((x - 26, y - 26, x + 26, y + 26), outline=MARK, width=7)
