"""Settings for all tests."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hypothesis import settings

# Machines that run these tests are often busy: how long an example takes says nothing about the code.
settings.register_profile("sopbench", deadline=None)
settings.load_profile("sopbench")

# No test asks the network for a publisher's prompt text, or finds one that this machine's user has pulled.
os.environ["SOPBENCH_OFFLINE"] = "1"
os.environ["SOPBENCH_CACHE"] = str(Path(tempfile.gettempdir()) / f"sopbench-tests-{os.getpid()}-no-cache")
os.environ.pop("SOPBENCH_MIRROR", None)
