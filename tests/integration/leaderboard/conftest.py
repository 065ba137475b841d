"""One verified submission a session; what tests change are copies of it."""

from __future__ import annotations

import pytest
from board_workshop import Workshop, make_workshop


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return make_workshop(tmp_path_factory.mktemp("workshop"))
