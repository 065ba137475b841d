"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# Machines that run these tests are often busy: how long an example takes says nothing about the code.
settings.register_profile("sopbench", deadline=None)
settings.load_profile("sopbench")
