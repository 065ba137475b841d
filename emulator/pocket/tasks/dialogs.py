"""Steps that several apps' experts share: dialogs that ask for a name."""

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

    That is `rename.ok` in the overlay `rename`, `create.ok` in others.
    """
    if not asks(x, overlay, args):
        yield from x.tap(*chain, about=args)
        return
    yield from x.type("name", name)
    yield from x.tap("rename.ok" if overlay == "rename" else "create.ok")
