"""What a phone shows, and what its fingers do. A screen is chosen when a phone is made: PocketPhone, a page of Chromium, or a plain desk."""

from emulator.sim.screens.base import Intent, Reply, Screen

__all__ = ["Intent", "Reply", "Screen"]
