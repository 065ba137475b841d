"""`sopbench prompts`: the words that models are asked in, and where they are from."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter
    from sopbench.prompts.catalogue import Official
    from sopbench.prompts.choosing import Choice

HELP = """Prompt texts and their sources.

A model should be asked in the words that it was trained on, and those are its publisher's. `builtin` texts are ours; `package` texts are read from an installed
package; `pulled` ones are fetched once from the publisher's repository, at a pinned commit, and kept in the cache. `sopbench run --prompts` chooses.
"""

PULL_HELP = """Fetch a family's official text, compare every file with its sha256, and keep the text in the cache.

The files come from the publisher's repository on the web (SOPBENCH_MIRROR names a mirror, the proxy settings of the environment hold), or with --from from a clone: a work
tree, or a bare git directory that has the pinned commit. Repeat --from where a text is made of several repositories.

Examples:

  sopbench prompts pull uis1

  sopbench prompts pull uis1 --from ~/src/MobileAgent
"""

SHOW_HELP = """Print the texts of a family. Fields such as {goal} are filled in at each request.

Example: sopbench prompts show uis1 --source builtin --template system
"""

DIFF_HELP = """Compare our texts with the official ones, template by template. Exit status: 0 they are the same, 1 they differ.

Example: sopbench prompts diff uis1
"""

Source = Annotated[str, typer.Option(help="official, builtin, package or pulled.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help=HELP, rich_markup_mode=None)

    @group.command("list", help="List the families with their sources, and which are to be had here.")
    def list_sources(
        as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json

        found = sources_here()
        if as_json:
            print_json(found)
        else:
            _print_list(found)

    @group.command(help=PULL_HELP)
    def pull(
        family: Annotated[str, typer.Argument(help="The family (adapter) whose text it is.", show_default=False)],
        clone: Annotated[
            list[Path] | None,
            typer.Option("--from", help="A clone of the publisher's repository, in the place of the web."),
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json, safe
        from sopbench.errors import PromptError
        from sopbench.prompts.pulling import pull as pull_source
        from sopbench.prompts.pulling import pulled_source
        from sopbench.prompts.texts import hash_of

        source = pulled_source(family)
        try:
            stored = pull_source(source, clone or ())
        except PromptError as error:
            if clone:
                raise
            places = ", ".join(dict.fromkeys(pin.repository for pin in source.files))
            raise PromptError(
                f"{error}\n  A clone of {places} will do: sopbench prompts pull {family} --from CLONE"
            ) from error
        if as_json:
            found = {"family": family, "path": str(stored.path), "texts_sha256": hash_of(stored.templates)}
            print_json({**found, "origins": dict(stored.origins), "templates": sorted(stored.templates)})
            return
        for pin in source.files:
            print(f"ok  {pin.path}  sha256 {pin.sha256[:12]}  from {safe(stored.origins[pin.path], 500)}")
        print(f"{family}: {source.whose}; {', '.join(sorted(stored.templates))}")
        print(f"kept in {stored.path}")

    @group.command(help=SHOW_HELP)
    def show(
        family: Annotated[str, typer.Argument(help="The family (adapter).", show_default=False)],
        source: Source = "official",
        template: Annotated[str | None, typer.Option(help="Only this template, and nothing around it.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.errors import UsageError
        from sopbench.prompts.choosing import checked_wanted, choose

        choice = choose(family, checked_wanted(source))
        templates = choice.texts.templates
        if template is not None and template not in templates:
            raise UsageError(f"{family} has no template {template[:40]!r}; it has {', '.join(templates)}")
        if as_json:
            print_json({**described(choice), "templates": dict(templates)})
        elif template is not None:
            _write(templates[template])
        else:
            print(f"{family}: {shown(choice)}")
            for name, text in templates.items():
                print(f"\n--- {name}")
                _print_text(text)

    @group.command(help=DIFF_HELP)
    def diff(
        family: Annotated[str, typer.Argument(help="The family (adapter).", show_default=False)],
        source: Source = "official",
    ) -> None:
        from sopbench.prompts.choosing import checked_wanted, choose

        ours, theirs = choose(family, "builtin").texts, choose(family, checked_wanted(source)).texts
        lines = differing(ours.templates, theirs.templates, ours.kind, theirs.kind)
        for line in lines:
            _print_text(line)
        raise typer.Exit(1 if lines else 0)

    app.add_typer(group, name="prompts")


def sources_here() -> dict[str, list[dict[str, Any]]]:
    """Every family's sources in order of preference, with what is to be had here without a network."""
    from sopbench.adapters import ADAPTERS
    from sopbench.prompts.catalogue import OFFICIAL

    return {
        family: [*(_source_here(source) for source in OFFICIAL.get(family, ())), {"kind": "builtin", "here": True}]
        for family in ADAPTERS
    }


def _source_here(source: Official) -> dict[str, Any]:
    from sopbench.errors import PromptError
    from sopbench.prompts import builtin
    from sopbench.prompts.choosing import taken

    found: dict[str, Any] = {"kind": source.kind, "whose": source.whose}
    if source.package is not None:
        found["package"] = source.package.distribution
    else:
        found["files"] = [
            {"repository": f.repository, "commit": f.commit, "path": f.path, "sha256": f.sha256} for f in source.files
        ]
    try:
        choice = taken(source, builtin(source.family), pulling=False)
    except PromptError as error:
        return {**found, "here": False, "why": str(error)}
    return {**found, "here": True, "sha256": choice.texts.sha256, "origin": choice.texts.origin}


def _print_list(found: Mapping[str, list[dict[str, Any]]]) -> None:
    from sopbench.cli.terminal import console

    out = console()
    for family, sources in found.items():
        official = sources[:-1]
        for source in official:
            state = "here" if source["here"] else f"not here: {source['why']}"
            out.print(f"{family:<18}{source['kind']:<9}{source['whose']}; {state}")
        out.print(f"{family:<18}builtin  our words" + ("" if official else "; no official text"))


def shown(choice: Choice) -> str:
    """One line: kind, hash, whose words, and where they are."""
    texts = choice.texts
    where = f"; {texts.origin}" if texts.origin else ""
    return f"{texts.kind} {texts.sha256[:12]} ({texts.note}{where})"


def described(choice: Choice) -> dict[str, Any]:
    """The same, ready for JSON."""
    texts = choice.texts
    return {
        "kind": texts.kind,
        "sha256": texts.sha256,
        "note": texts.note,
        "origin": texts.origin,
        "missed": list(choice.missed),
    }


def worded(name: str, prompts: str) -> Adapter:
    """The adapter in the words that `--prompts` asks for; says on standard error when ours stand in for official ones."""
    from sopbench.adapters import get_adapter
    from sopbench.prompts.choosing import checked_wanted, choose

    get_adapter(name)  # an unknown name is told first
    choice = choose(name, checked_wanted(prompts))
    if (warning := choice.warning()) is not None:
        _warn(warning)
    return get_adapter(name, choice.texts)


def worded_here(name: str, prompts: str = "auto") -> tuple[Adapter, Choice]:
    """The adapter in the words that a run would use here now, without asking the network."""
    from sopbench.adapters import get_adapter
    from sopbench.prompts.choosing import checked_wanted, choose

    get_adapter(name)
    choice = choose(name, checked_wanted(prompts), pulling=False)
    return get_adapter(name, choice.texts), choice


@contextmanager
def tell_fallback() -> Iterator[None]:
    """Print `PromptFallback` warnings and `Notice`s as messages of the program, each once, and no other differently."""
    import warnings

    from sopbench.errors import Notice
    from sopbench.prompts.choosing import PromptFallback

    with warnings.catch_warnings():
        warnings.simplefilter("always", PromptFallback)
        warnings.simplefilter("always", Notice)
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, PromptFallback):
                _warn(str(message))
            elif issubclass(category, Notice):
                print(f"note: {message}", file=sys.stderr)
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show
        yield


def _warn(message: str) -> None:
    from sopbench.cli.terminal import safe

    print("warning: " + "\n".join(safe(line, 2000) for line in message.splitlines()), file=sys.stderr)


def differing(ours: Mapping[str, str], theirs: Mapping[str, str], our_name: str, their_name: str) -> list[str]:
    """Unified differences of all templates, as lines. A line that only one side ends is marked, since models see line ends."""
    import difflib

    lines: list[str] = []
    for name in dict.fromkeys([*ours, *theirs]):
        mine, other = _lines(ours.get(name, "")), _lines(theirs.get(name, ""))
        lines += difflib.unified_diff(mine, other, f"{our_name}/{name}", f"{their_name}/{name}", lineterm="")
    return lines


def _lines(text: str) -> list[str]:
    return text.splitlines() + ([] if text.endswith("\n") else ["\\ no line end"])


def _print_text(text: str) -> None:
    _write(text if text.endswith("\n") else text + "\n")


def _write(text: str) -> None:
    """Exactly `text`; on a terminal without control characters other than line breaks, since a publisher's text may hold anything."""
    from sopbench.cli.terminal import safe

    if sys.stdout.isatty():
        text = "\n".join(safe(line, len(line) + 1) for line in text.split("\n"))
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
