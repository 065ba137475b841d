"""Which of a family's prompt sources a run uses, and what it says where that is not the official one."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from sopbench.errors import PromptError, UsageError
from sopbench.prompts import builtin, cache
from sopbench.prompts.catalogue import OFFICIAL, Official, PackageFile
from sopbench.prompts.literals import MAX_SOURCE
from sopbench.prompts.pulling import pull, templates_of
from sopbench.prompts.texts import PromptTexts

Wanted = Literal["auto", "official", "builtin", "package", "pulled"]
WANTED: Final[tuple[str, ...]] = get_args(Wanted)


class PromptFallback(UserWarning):
    """A model is asked in our words although its publisher's exist."""


@dataclass(frozen=True, slots=True)
class Choice:
    """`missed` says why no official source was taken where the family has one."""

    texts: PromptTexts
    missed: tuple[str, ...] = ()

    def warning(self) -> str | None:
        """What to tell a user who gets our words in the place of official ones."""
        if not self.missed:
            return None
        family = self.texts.family
        able = any(source.kind == "pulled" for source in OFFICIAL[family])
        package = next((source.package.distribution for source in OFFICIAL[family] if source.package), None)
        ways = [f"sopbench prompts pull {family} [--from CLONE]"] if able else []
        ways += [f"pip install {package}"] if package else []
        reasons = "".join(f"\n  {line}" for reason in self.missed for line in reason.splitlines())
        return (
            f"{family} is asked in our words and not in its publisher's, so the numbers are not comparable with published ones.{reasons}\n"
            f"  To have the official text: {', or '.join(ways)}. To choose ours without this warning: --prompts builtin"
        )


def checked_wanted(wanted: str) -> Wanted:
    """`wanted` if it names a kind of source; raises `UsageError` otherwise."""
    for known in get_args(Wanted):
        if wanted == known:
            return known  # type: ignore[no-any-return]  # one of Wanted's own
    raise UsageError(f"prompts is one of {', '.join(WANTED)}, not {wanted[:40]!r}")


def choose(family: str, wanted: Wanted = "auto", *, pulling: bool = True) -> Choice:
    """The texts that `wanted` means for `family`.

    auto: the first official source that is to be had (a pulled one is pulled on first use, if `pulling`), else ours, with the reasons in `missed`. official: the same, but
    raises `PromptError` in the place of ours. package, pulled, builtin: that kind and no other. Raises `UsageError` where the family has no such source.
    """
    ours = builtin(family)
    if wanted == "builtin":
        return Choice(ours)
    sources = OFFICIAL.get(family, ())
    if wanted in ("package", "pulled"):
        sources = tuple(source for source in sources if source.kind == wanted)
    if not sources:
        if wanted == "auto":
            return Choice(ours)
        kind = "official" if wanted == "official" else f"{wanted!r}"
        raise UsageError(f"{family} has no {kind} prompt text; choose --prompts builtin")
    missed = []
    for source in sources:
        try:
            return taken(source, ours, pulling=pulling)
        except PromptError as error:
            missed.append(str(error))
    if wanted == "auto":
        return Choice(ours, tuple(missed))
    reasons = "".join(f"\n  {line}" for reason in missed for line in reason.splitlines())
    raise PromptError(
        f"the prompt text of {family} that was asked for ({wanted}) is not to be had:{reasons}\n"
        f"  A clone of the publisher's repository will do: sopbench prompts pull {family} --from CLONE. "
        "Or choose ours: --prompts builtin (of `sopbench prompts show`: --source builtin)"
    )


def taken(source: Official, ours: PromptTexts, *, pulling: bool = True) -> Choice:
    """The texts of one source. Templates that it does not have are ours, and the note names them. Raises `PromptError` where it is not to be had."""
    if source.package is not None:
        version, data = read_package(source.package)
        templates: Mapping[str, str] = templates_of(source, {source.package.path: data})
        origin = f"{source.package.distribution} {version}"
    else:
        stored = cache.load(source)
        if stored is None and not pulling:
            raise PromptError(f"the official text is not pulled yet; sopbench prompts pull {source.family} does it")
        stored = stored or pull(source)
        templates, origin = stored.templates, str(stored.path)
    missing = sorted(set(ours.templates) - set(templates))
    note = note_of(source) + (f"; ours: {', '.join(missing)}" if missing else "")
    return Choice(PromptTexts(source.family, source.kind, {**ours.templates, **templates}, note, origin))


def note_of(source: Official) -> str:
    """Whose words, without what changes from machine to machine: the note is part of a run's facts."""
    places = dict.fromkeys(f"{pin.owner_and_name} {pin.commit[:8]}" for pin in source.files)
    if source.package is not None:
        return source.whose
    return f"{source.whose} ({', '.join(places)})"


def read_package(file: PackageFile) -> tuple[str, bytes]:
    """Version of the installed distribution, and the file's bytes. Nothing of it is imported."""
    try:
        distribution = importlib.metadata.distribution(file.distribution)
    except importlib.metadata.PackageNotFoundError as error:
        raise PromptError(f"package {file.distribution} is not installed") from error
    path = Path(str(distribution.locate_file(file.path)))
    try:
        with path.open("rb") as handle:
            return distribution.version, handle.read(MAX_SOURCE + 1)
    except OSError as error:
        raise PromptError(
            f"package {file.distribution} {distribution.version} has no {file.path} to read; another version may have it"
        ) from error
