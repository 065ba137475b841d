"""The apps that a phone believes to have: a registry of packages, and what each brings along when it is new.

`Package.seed` makes an app's files (databases among them) anew: at the first boot, and at every `pm clear`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from emulator.sim.databases import create

if TYPE_CHECKING:
    from emulator.sim.files import FileTree

LAUNCHER: Final = "com.google.android.apps.nexuslauncher/.NexusLauncherActivity"
Seed: TypeAlias = "Callable[[FileTree], None]"


@dataclass(frozen=True, slots=True)
class Package:
    """One installed app. `activity` is what its icon starts (None: no icon). `databases`: path below the app's folder -> SQL."""

    name: str
    activity: str | None = None
    label: str = ""
    databases: tuple[tuple[str, str], ...] = ()
    folders: tuple[str, ...] = ()
    seed: Seed | None = None

    @property
    def home(self) -> str:
        return f"/data/data/{self.name}"

    @property
    def component(self) -> str | None:
        """`package/activity`, as `am start -n` takes it."""
        return f"{self.name}/{self.activity}" if self.activity else None

    def fresh(self, files: FileTree) -> None:
        """The app's folder as it is after the installation."""
        if files.exists(self.home):
            files.remove(self.home, recursive=True)
        for folder in ("cache", "files", "shared_prefs", "databases"):
            files.mkdir(f"{self.home}/{folder}", parents=True)
        for folder in self.folders:
            files.mkdir(folder if folder.startswith("/") else f"{self.home}/{folder}", parents=True)
        self.wake(files)
        if self.seed is not None:
            self.seed(files)

    def wake(self, files: FileTree) -> None:
        """What an app does when it starts: databases that are gone are made anew, empty."""
        for path, sql in self.databases:
            whole = f"{self.home}/{path}"
            if not files.exists(whole):
                files.mkdir(whole.rsplit("/", 1)[0], parents=True)
                files.write(whole, create(sql), mode=0o660)


@dataclass(slots=True)
class Packages:
    """What is installed, by name. Permissions are kept and never asked for: every app may do everything."""

    installed: dict[str, Package] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)
    permissions: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, packages: Iterable[Package]) -> Packages:
        return cls({package.name: package for package in packages})

    def copy(self) -> Packages:
        return Packages(dict(self.installed), set(self.disabled), set(self.permissions))

    def get(self, name: str) -> Package | None:
        return self.installed.get(name)

    def names(self) -> list[str]:
        return sorted(self.installed)

    def add(self, package: Package, files: FileTree) -> None:
        """Install; an app that is there already keeps its files."""
        new = package.name not in self.installed
        self.installed[package.name] = package
        if new:
            package.fresh(files)

    def remove(self, name: str, files: FileTree) -> bool:
        package = self.installed.pop(name, None)
        if package is not None and files.exists(package.home):
            files.remove(package.home, recursive=True)
        return package is not None
