"""What a page is made of. An app says *what* is there; the two display themes decide how it looks and where it lies.

Every widget that can be touched takes an `id`, unique on its page and stable while the thing it stands for lives
(`note.n12`, not `row.3`), and handlers without arguments. Widgets are values: build them anew from the state each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Tap: TypeAlias = Callable[[], None]
Pick: TypeAlias = Callable[[str], None]


# ---- small parts that stand inside others
@dataclass(frozen=True, slots=True)
class Avatar:
    """A disc with the initials of `name`, coloured by the name."""

    name: str


@dataclass(frozen=True, slots=True)
class Glyph:
    """An icon on a pale tile. `hue` is `#RRGGBB`; empty: the app's accent."""

    icon: str
    hue: str = ""


@dataclass(frozen=True, slots=True)
class Art:
    """A flat picture: an icon on a filled square (album, product, photo). `hue` is `#RRGGBB`; empty: chosen by the icon."""

    icon: str
    hue: str = ""


Leading: TypeAlias = Avatar | Glyph | Art


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch of its own at the end of a row: the row and the switch are two targets."""

    id: str
    on: bool
    on_tap: Tap
    label: str = ""


@dataclass(frozen=True, slots=True)
class IconButton:
    """A round button. `label` is its text in the UI tree. `active` tints it; `style` fills it."""

    id: str
    icon: str
    label: str
    on_tap: Tap
    active: bool = False
    style: Literal["plain", "tonal", "filled"] = "plain"
    on_long: Tap | None = None
    badge: int = 0


# ---- rows
@dataclass(frozen=True, slots=True)
class Row:
    """A list row. `subtitle` shows on the large display only if `tall` (the row is then two cells high).

    `value` stands at the right, muted. `chevron` says that the row leads to a page. `trailing` is a target of its own.
    """

    id: str
    title: str
    subtitle: str = ""
    value: str = ""
    leading: Leading | None = None
    chevron: bool = False
    trailing: Switch | IconButton | None = None
    on_tap: Tap | None = None
    on_long: Tap | None = None
    badge: int = 0
    danger: bool = False
    strong: bool = False
    tall: bool = False


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """A row that is one target: touching it anywhere flips the switch."""

    id: str
    title: str
    on: bool
    on_tap: Tap
    subtitle: str = ""
    leading: Leading | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A row with a radio button or a check box."""

    id: str
    title: str
    chosen: bool
    on_tap: Tap
    style: Literal["radio", "box"] = "radio"
    subtitle: str = ""
    leading: Leading | None = None
    on_long: Tap | None = None


@dataclass(frozen=True, slots=True)
class Stepper:
    """A label, a value and two buttons (ids `<id>.minus`, `<id>.plus`); a None handler greys its button out."""

    id: str
    label: str
    value: str
    on_minus: Tap | None
    on_plus: Tap | None
    leading: Leading | None = None


@dataclass(frozen=True, slots=True)
class Levels:
    """A bar of levels to touch (ids `<id>.<k>`), `count` of them from 0, at most 6; `value` is the one reached."""

    id: str
    label: str
    value: int
    on_pick: Callable[[int], None]
    count: int = 6
    caption: str = ""
    leading: Leading | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Rows on one card, with dividers, under an optional heading."""

    rows: Sequence[Row | SwitchRow | Choice | Stepper | Levels]
    title: str = ""


# ---- text and pictures
@dataclass(frozen=True, slots=True)
class Text:
    """Running text, wrapped. `id` names its node; empty: `text.<n>` in order of the page."""

    text: str
    style: Literal["body", "muted", "title", "display", "caption"] = "body"
    align: Literal["left", "center"] = "left"
    id: str = ""
    card: bool = False


@dataclass(frozen=True, slots=True)
class Hero:
    """The one big thing of a page: a timer's digits, a total, a result. Centred, with an optional caption."""

    text: str
    caption: str = ""
    id: str = "hero"
    align: Literal["center", "right"] = "center"


@dataclass(frozen=True, slots=True)
class Picture:
    """A large flat picture, with the UI text `label`; an `Avatar` makes a contact's head."""

    art: Leading
    label: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Empty:
    """What an empty list says."""

    icon: str
    title: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """A bar filled to `percent`, with a text at each end. Not a target."""

    percent: int
    left: str = ""
    right: str = ""
    id: str = "progress"


@dataclass(frozen=True, slots=True)
class Gap:
    """Room between widgets: 1 is a small step (nothing on the large display), 2 a big one (one cell row)."""

    size: Literal[1, 2] = 1


# ---- input
@dataclass(frozen=True, slots=True)
class Field:
    """A text field. Build it with `ctx.field(...)`, which fills in `value` and `on_change` from the page's state.

    `kind` number brings the number pad; multiline keeps newlines; search has a magnifier. `on_submit` runs on Enter.
    Touching it focuses it; with text and focus it has a clear button, `<id>.clear`.
    """

    id: str
    value: str
    on_change: Pick
    label: str = ""
    hint: str = ""
    kind: Literal["text", "number", "multiline", "search"] = "text"
    on_submit: Tap | None = None


@dataclass(frozen=True, slots=True)
class Composer:
    """A field with a send button (id `<field id>.send`), for a page's footer."""

    field: Field
    on_send: Tap
    label: str = "Send"


@dataclass(frozen=True, slots=True)
class Button:
    """A wide button; `style` danger is for what cannot be undone. Disabled: `on_tap=None`."""

    id: str
    label: str
    on_tap: Tap | None
    style: Literal["filled", "tonal", "text", "danger"] = "filled"
    icon: str = ""


@dataclass(frozen=True, slots=True)
class Buttons:
    """One to three buttons side by side, equally wide."""

    buttons: Sequence[Button]


@dataclass(frozen=True, slots=True)
class Controls:
    """One to six round buttons side by side, as of a music player."""

    buttons: Sequence[IconButton]


@dataclass(frozen=True, slots=True)
class Options:
    """Chips of which one or several are chosen; ids are `<id>.<key>`.

    `options` maps keys to labels. `columns` 0 lets them flow (two a row on the large display); 2, 3 or 6 makes a grid: hours, minutes, sizes.
    """

    id: str
    options: Mapping[str, str]
    chosen: frozenset[str]
    on_pick: Pick
    label: str = ""
    columns: Literal[0, 2, 3, 6] = 0


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a keypad. `icon` is drawn instead of the label; `span` in columns; style as of buttons."""

    id: str
    label: str
    on_tap: Tap
    icon: str = ""
    span: int = 1
    style: Literal["plain", "tonal", "filled", "soft"] = "plain"
    on_long: Tap | None = None


@dataclass(frozen=True, slots=True)
class Keypad:
    """Rows of keys of equal total span. `large` is the arrangement for the large display: six columns a row.

    Both arrangements must hold the same ids.
    """

    rows: Sequence[Sequence[Key]]
    large: Sequence[Sequence[Key]]


# ---- collections
@dataclass(frozen=True, slots=True)
class Tile:
    """A picture with a title, for `Tiles`."""

    id: str
    title: str
    art: Art
    on_tap: Tap
    subtitle: str = ""
    on_long: Tap | None = None


@dataclass(frozen=True, slots=True)
class Tiles:
    """Tiles, two a row; rows of a list on the large display."""

    tiles: Sequence[Tile]


@dataclass(frozen=True, slots=True)
class Card:
    """A card with a title and some lines of text; one list row on the large display. `mark` is an icon at its corner."""

    id: str
    title: str
    text: str
    on_tap: Tap
    caption: str = ""
    mark: str = ""
    on_long: Tap | None = None


@dataclass(frozen=True, slots=True)
class Bubble:
    """A message of a chat. Mine stand at the right."""

    id: str
    text: str
    mine: bool
    time: str = ""
    on_long: Tap | None = None


@dataclass(frozen=True, slots=True)
class Month:
    """A month to pick a day from: ids `<id>.<d>`, `<id>.prev`, `<id>.next`. Weeks start on Monday."""

    id: str
    year: int
    month: int
    on_day: Callable[[int], None]
    on_prev: Tap
    on_next: Tap
    chosen: int = 0
    today: int = 0
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MiniBar:
    """A bar for a page's footer: what plays now, a cart's total. The bar and its buttons are targets."""

    id: str
    title: str
    on_tap: Tap
    subtitle: str = ""
    leading: Leading | None = None
    buttons: Sequence[IconButton] = ()


@dataclass(frozen=True, slots=True)
class AppIcon:
    """An icon of the launcher."""

    id: str
    title: str
    icon: str
    hue: str
    on_tap: Tap


@dataclass(frozen=True, slots=True)
class Launcher:
    """The home screen's icons, None for an empty place. Only the launcher page has one."""

    icons: Sequence[AppIcon | None]
    time: str
    date: str


ListRow: TypeAlias = Row | SwitchRow | Choice | Stepper | Levels
Block: TypeAlias = (
    ListRow
    | Group
    | Text
    | Hero
    | Picture
    | Empty
    | Progress
    | Gap
    | Field
    | Composer
    | Button
    | Buttons
    | Controls
    | Options
    | Keypad
    | Tiles
    | Card
    | Bubble
    | Month
    | MiniBar
    | Launcher
)


# ---- what surrounds a page
@dataclass(frozen=True, slots=True)
class MenuItem:
    """An entry of a menu or a sheet."""

    id: str
    label: str
    on_tap: Tap
    icon: str = ""
    danger: bool = False


@dataclass(frozen=True, slots=True)
class Tabs:
    """Two or three tabs under the title; ids `<id>.<key>`. A horizontal swipe moves to the neighbour."""

    id: str
    options: Mapping[str, str]
    chosen: str
    on_pick: Pick


@dataclass(frozen=True, slots=True)
class Fab:
    """The page's main action: a floating button, a full-width bar at the bottom of the large display."""

    id: str
    label: str
    on_tap: Tap
    icon: str = "plus"


@dataclass(frozen=True, slots=True)
class Dialog:
    """A question in the middle. Touching a button closes the dialog, then runs its handler; so does touching beside it, or Back.

    `blocks` stand between text and buttons (fields, choices) and scroll if they must; they don't close it.
    """

    title: str
    text: str = ""
    blocks: Sequence[Block] = ()
    buttons: Sequence[Button] = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """Actions on one thing, from the bottom edge. Touching an item closes the sheet, then runs its handler."""

    title: str
    items: Sequence[MenuItem]


@dataclass(frozen=True, slots=True)
class Menu:
    """The page's own menu, made by the phone from `Page.menu`."""

    items: Sequence[MenuItem]


Overlay: TypeAlias = Dialog | Sheet | Menu


@dataclass(frozen=True, slots=True)
class Page:
    """All that one page of an app shows.

    `actions` stand in the title bar (at most two beside a menu); `menu` puts a `more` button there. `footer` stays at the bottom.
    `anchor` bottom starts scrolled to the end, as chats do. `on_swipe` gets "left" or "right", the way the finger went.
    """

    title: str
    blocks: Sequence[Block]
    actions: Sequence[IconButton] = ()
    menu: Sequence[MenuItem] = ()
    tabs: Tabs | None = None
    fab: Fab | None = None
    footer: Sequence[Block] = ()
    anchor: Literal["top", "bottom"] = "top"
    on_swipe: Pick | None = None
    subtitle: str = ""
    leading: Leading | None = None
    back: bool = field(default=True)
