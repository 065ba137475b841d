"""PocketPhone: a small simulated phone drawn with Pillow. It is a simulation and always says so.

`Phone` is what tasks and environments drive; `emulator/pocket/README.md` tells how an app is written.
"""

from __future__ import annotations
