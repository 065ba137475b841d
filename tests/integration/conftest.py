"""Fixtures of the integration tests: servers on loopback that misbehave to order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fault_server import Behaviour, FaultServer, ServerMaker


@pytest.fixture
def fault_server() -> Iterator[ServerMaker]:
    """`fault_server(behaviour, ...)` starts a `FaultServer` with that script; all are stopped at the end of the test."""
    with ExitStack() as stack:

        def make(*script: Behaviour, **options: Any) -> FaultServer:
            return stack.enter_context(FaultServer(script, **options))

        yield make
