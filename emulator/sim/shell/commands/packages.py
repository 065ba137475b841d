"""Packages: pm, cmd, appops, ime."""

from __future__ import annotations

from emulator.sim.packages import Package
from emulator.sim.shell.call import Call, Commands, Failed


def pm(call: Call) -> int:
    return _pm(call, list(call.args))


def _pm(call: Call, words: list[str]) -> int:
    if not words:
        raise Failed("no command", 255)
    verb, *rest = words
    if rest[:1] == ["--user"]:
        del rest[:2]
    packages = call.android.packages
    match verb:
        case "list":
            return _list(call, rest)
        case "path":
            found = packages.get(rest[0]) if rest else None
            if found is not None:
                call.print(f"package:/data/app/{found.name}/base.apk")
            return 0 if found else 1
        case "clear":
            return _clear(call, [word for word in rest if not word.startswith("-")][-1:])
        case "grant" | "revoke":
            return _grant(call, verb, rest)
        case "install":
            return _install(call, rest)
        case "uninstall":
            names = [word for word in rest if not word.startswith("-")]
            gone = bool(names) and packages.remove(names[0], call.android.files)
            call.print("Success" if gone else "Failure [DELETE_FAILED_INTERNAL_ERROR]")
            return 0 if gone else 1
        case "enable" | "disable" | "disable-user" | "hide" | "unhide":
            for name in rest[-1:]:
                (packages.disabled.discard if verb in ("enable", "unhide") else packages.disabled.add)(name)
                call.print(f"Package {name} new state: {verb}d")
            return 0
        case "resolve-activity":
            return _resolve(call, rest)
        case "get-max-users":
            call.print("Maximum supported users: 1")
            return 0
        case "trim-caches" | "compile" | "bg-dexopt-job" | "set-home-activity" | "reset-permissions":
            call.print("Success")
            return 0
    raise Failed(f"Unknown command: {verb[:40]} (not simulated, or no such command)", 255)


def _list(call: Call, words: list[str]) -> int:
    what = words[0] if words else ""
    packages = call.android.packages
    if what in ("packages", "package"):
        wanted = [word for word in words[1:] if not word.startswith("-")]
        disabled = "-d" in words
        for name in packages.names():
            if all(part in name for part in wanted) and (not disabled or name in packages.disabled):
                path = f"/data/app/{name}/base.apk=" if "-f" in words else ""
                call.print(f"package:{path}{name}")
    elif what == "features":
        call.print("feature:reqGlEsVersion=0x30000\nfeature:android.hardware.touchscreen")
    elif what == "libraries":
        call.print("library:android.test.base")
    elif what == "users":
        call.print("Users:\n\tUserInfo{0:Owner:c13} running")
    elif what in ("permissions", "permission-groups", "instrumentation"):
        return 0
    else:
        raise Failed(f"Error: unknown list type '{what[:40]}'", 255)
    return 0


def _clear(call: Call, names: list[str]) -> int:
    package = call.android.packages.get(names[0]) if names else None
    if package is None:
        call.print("Failed")
        return 1
    with call.android.lock:
        call.android.screen.stop(package.name)
        package.fresh(call.android.files)
    call.print("Success")
    return 0


def _grant(call: Call, verb: str, words: list[str]) -> int:
    if len(words) < 2:
        raise Failed("Needs a package and a permission", 255)
    name, permission = words[0], words[1]
    if call.android.packages.get(name) is None:
        raise Failed(f"Exception occurred while executing '{verb}': Unknown package: {name[:80]}", 255)
    held = call.android.packages.permissions
    (held.add if verb == "grant" else held.discard)((name, permission))
    return 0


def _install(call: Call, words: list[str]) -> int:
    """No APK is read: a file that was pushed counts as installed, under a package name made of its own name."""
    names = [word for word in words if not word.startswith("-")]
    path = call.path(names[-1]) if names else ""
    if not path or not call.android.files.exists(path):
        call.print("Failure [INSTALL_PARSE_FAILED_NOT_APK]")
        return 1
    stem = path.rsplit("/", 1)[-1].removesuffix(".apk")
    name = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._") else "_" for letter in stem)[
        :100
    ]
    call.android.packages.add(Package(name if "." in name else f"apk.{name}"), call.android.files)
    call.print("Success")
    return 0


def _resolve(call: Call, words: list[str]) -> int:
    name = words[-1] if words else ""
    package = call.android.packages.get(name)
    component = package.component if package else None
    call.print(component or "No activity found")
    return 0 if component else 1


def cmd(call: Call) -> int:
    """`cmd SERVICE ...`: package, activity, and a few that are taken without an effect."""
    match call.args:
        case ["package", *rest]:
            return _pm(call, rest)
        case ["activity", *rest]:
            return call.run(["am", *rest])
        case ["settings", *rest]:
            return call.run(["settings", *rest])
        case ["uimode", "night", *rest]:
            if rest:
                call.android.settings["secure"]["ui_night_mode"] = "2" if rest[0] == "yes" else "1"
            on = call.android.settings["secure"].get("ui_night_mode") == "2"
            call.print(f"Night mode: {'yes' if on else 'no'}")
            return 0
        case ["wifi", "set-wifi-enabled", what]:
            return call.run(["svc", "wifi", "enable" if what == "enabled" else "disable"])
        case ["connectivity", "airplane-mode", *rest]:
            table = call.android.settings["global"]
            if rest:
                table["airplane_mode_on"] = "1" if rest[0] == "enable" else "0"
            else:
                call.print("enabled" if table["airplane_mode_on"] == "1" else "disabled")
            return 0
        case ["clipboard", "get" | "get-primary-clip"]:
            call.print(call.android.clipboard)
            return 0
        case ["clipboard", "set" | "set-primary-clip", *rest]:
            call.android.clipboard = " ".join(rest)[:100_000]
            return 0
        case [
            "notification"
            | "statusbar"
            | "window"
            | "input_method"
            | "overlay"
            | "role"
            | "locale"
            | "appops"
            | "jobscheduler",
            *_,
        ]:
            return 0
        case ["-l"]:
            call.print("Currently running services:\n  activity\n  package\n  settings")
            return 0
        case [name, *_]:
            raise Failed(f"Can't find service: {name[:40]}", 20)
    raise Failed("No service specified; use -l to list all services", 20)


def nothing(call: Call) -> None:
    """Taken, and without anything to see."""


def ime(call: Call) -> None:
    secure = call.android.settings["secure"]
    match call.args:
        case ["list", *_]:
            call.print(secure["default_input_method"])
        case ["set", name]:
            secure["default_input_method"] = name[:200]
            call.print(f"Input method {name} selected for user #0")
        case ["enable" | "disable", name]:
            call.print(f"Input method {name}: now {call.args[0]}d for user #0")


COMMANDS: Commands = {"pm": pm, "cmd": cmd, "appops": nothing, "ime": ime}
