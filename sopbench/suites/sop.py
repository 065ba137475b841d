"""Suite `sop`: any trajectory file, played semi-online. With the released AndroidControl file it is the paper's benchmark."""

from __future__ import annotations

from typing import ClassVar, Literal

from sopbench.files import file_sha256
from sopbench.suites.base import DataSource, Loaded, Suite
from sopbench.trajectory import load_trajectories, screens_in


class SopSuite(Suite):
    name: ClassVar[str] = "sop"
    summary: ClassVar[str] = "your trajectory file, semi-online (the released AndroidControl file: 1,543 trajectories)"
    protocol: ClassVar[Literal["semi_online", "online"]] = "semi_online"
    default_profile: ClassVar[str | None] = "uis1-released"
    needs_data: ClassVar[bool] = True

    def _load(self, source: DataSource, limit: int | None) -> Loaded:
        assert source.file is not None
        screens = screens_in(source.images, source.pattern) if source.images else None
        return Loaded(file_sha256(source.file), load_trajectories(source.file, screens, limit=limit))
