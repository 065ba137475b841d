"""Steps that several apps' experts share: dialogs that ask for a name, and what a page's choices are set to."""

from __future__ import annotations

from emulator.pocket.tasks.base import Plan
from emulator.pocket.tasks.expert import Expert


def asks(x: Expert, overlay: str, args: dict[str, str]) -> bool:
    """Whether this dialog is open, and about this thing."""
    if x.overlay != overlay:
        return False
    state = x.state.nav.stacks[x.app][-1].overlay
    return state is not None and args.items() <= state.args.items()


def give_name(x: Expert, overlay: str, args: dict[str, str], name: str, *chain: str) -> Plan:
    """Open the dialog by tapping the last of `chain` that is there; have `name` in its field; tap the button that ends in `.ok`.

    The dialog's buttons begin with the verb of the last id of the chain: `rename.ok` belongs to `sheet.rename`, `create.ok` to the rest.
    """
    if not asks(x, overlay, args):
        yield from x.tap(*chain, about=args)
        return
    yield from x.type("name", name)
    yield from x.tap("rename.ok" if overlay == "rename" else "create.ok")


def setting(x: Expert, name: str, default: str) -> str:
    """What a choice of the page in front is set to: a tab, a size, a number of pieces. Pages keep it beside their fields."""
    return x.state.nav.stacks[x.app][-1].fields.get(name, default)
