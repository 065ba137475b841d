"""Commands about the device itself: getprop, date, wm, svc, service, id, sleep, reboot and other small ones."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from emulator.sim.shell.call import Call, Commands, Failed, encoded

MAX_SLEEP: Final = 1e7
_SERVICES: Final = {"wifi": "wifi_on", "bluetooth": "bluetooth_on", "data": "mobile_data"}
WHAT: Final = ("enable", "disable")


def getprop(call: Call) -> None:
    android = call.android
    if call.args:
        call.print(android.property(call.args[0]) or (call.args[1] if len(call.args) > 1 else ""))
        return
    for name in sorted({*android.properties, "sys.boot_completed"}):
        call.print(f"[{name}]: [{android.property(name)}]")


def setprop(call: Call) -> None:
    if len(call.args) != 2:
        raise Failed("Needs 2 arguments")
    name, value = call.args
    if name.startswith("ro."):
        raise Failed(f"failed to set property '{name[:80]}' to '{value[:80]}': it is read-only")
    call.android.properties[name[:200]] = value[:2000]


def date(call: Call) -> None:
    """Shows the device's clock, or sets it: `MMDDhhmm[[CC]YY][.ss]`, `-s`/`@SECONDS`. Knows no time zone but UTC."""
    words = [word for word in call.args if word not in ("-u", "--utc")]
    clock = call.android.clock
    moment = clock.now()
    if words[:1] == ["-d"] and len(words) > 1:
        moment = _moment(words[1])
        words = words[2:]
    if words[:1] == ["-s"]:
        words.pop(0)
    if words and not words[0].startswith("+"):
        clock.set(_moment(words[0]))
        moment = clock.now()
        words = []
    when = datetime.fromtimestamp(moment, UTC)
    if words:
        pattern = words[0][1:].replace("%s", str(int(moment))).replace("%N", f"{when.microsecond * 1000:09d}")
        call.out.write(encoded(when.strftime(pattern.encode("ascii", "replace").decode()[:200]) + "\n"))
        return
    call.print(f"{when:%a %b} {when.day:2d} {when:%H:%M:%S} UTC {when:%Y}")


def _moment(text: str) -> float:
    if re.fullmatch(r"@\d{1,11}", text):
        return float(text[1:])
    found = re.fullmatch(r"(\d{2})(\d{2})(\d{2})(\d{2})(?:(\d{2})?(\d{2}))?(?:\.(\d{2}))?", text)
    try:
        if found is None:
            return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
        month, day, hour, minute, century, year, second = found.groups()
        whole = int(f"{century or 20}{year or 23}")
        return datetime(whole, int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        raise Failed(f"bad date '{text[:40]}'") from None


def sleep(call: Call) -> None:
    """Waits on the device: its clock skips ahead, what runs on the screen goes on, and the command returns at once."""
    total = 0.0
    for word in call.args:
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})([smhd]?)", word)
        if found is None:
            raise Failed(f"bad number '{word[:40]}'")
        total += float(found.group(1)) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found.group(2)]
    if not call.args:
        raise Failed("Needs 1 argument")
    seconds = min(total, MAX_SLEEP)
    with call.android.lock:
        call.android.clock.skip(seconds)
        call.android.screen.wait(seconds)


def wm(call: Call) -> None:
    size = call.android.screen.size
    match call.args:
        case ["size"]:
            call.print(f"Physical size: {size.width}x{size.height}")
        case ["density"]:
            call.print(f"Physical density: {call.android.property('ro.sf.lcd_density')}")
        case ["size" | "density", _]:
            raise Failed("the simulated screen has one size and density")
        case ["dismiss-keyguard"] | ["set-user-rotation" | "user-rotation" | "fixed-to-user-rotation", *_]:
            return
        case _:
            raise Failed("size and density are simulated, nothing else")


def svc(call: Call) -> None:
    match call.args:
        case [service, "enable" | "disable" as what] if service in _SERVICES:
            call.android.settings["global"][_SERVICES[service]] = "1" if what == "enable" else "0"
            call.android.log.write("I", "svc", f"{service} {what}")
        case ["power", *_] | ["usb", *_] | ["nfc", *_]:
            return
        case _:
            raise Failed(f"`svc {' '.join(call.args)[:60]}` is not simulated")


def service(call: Call) -> None:
    """`service call ...` is taken and does nothing but what is known to matter."""
    match call.args:
        case ["call", "alarm", "3", "s16", zone]:
            call.android.properties["persist.sys.timezone"] = zone[:60]
            call.print("Result: Parcel(00000000 00000001   '........')")
        case ["call", *_]:
            call.print("Result: Parcel(00000000    '....')")
        case ["list"]:
            call.print("Found 0 services:")
        case ["check", name]:
            call.print(f"Service {name}: found")
        case _:
            raise Failed("Needs call, check or list")


def identity(call: Call) -> None:
    call.print(
        "root"
        if call.name == "whoami" or "-un" in call.args
        else "0"
        if "-u" in call.args
        else "uid=0(root) gid=0(root) groups=0(root) context=u:r:su:s0"
    )


def uname(call: Call) -> None:
    call.print("Linux localhost 5.15.0-simulated #1 SMP x86_64 Toybox" if "-a" in call.args else "Linux")


def uptime(call: Call) -> None:
    call.print(f" {call.android.clock.datetime():%H:%M:%S} up 0:01, 0 users, load average: 0.00, 0.00, 0.00")


def ps(call: Call) -> None:
    call.print("USER  PID PPID  VSZ  RSS WCHAN ADDR S NAME")
    front = call.android.screen.foreground.partition("/")[0]
    for pid, name in enumerate(("init", "system_server", "com.android.systemui", front), 1):
        call.print(f"root {pid:4d}    0 1000 1000 0 0 S {name}")


def pidof(call: Call) -> int:
    front = call.android.screen.foreground.partition("/")[0]
    if front in call.args:
        call.print("4")
        return 0
    return 1


def su(call: Call) -> int:
    """Everything is root already: run what follows."""
    words = list(call.args)
    if words and (words[0].isdigit() or words[0] in ("root", "shell")):
        words.pop(0)
    if words and words[0] == "-c":
        raise Failed("-c is not simulated: write `su 0 COMMAND`")
    return call.run(words)


def timed(call: Call) -> int:
    """timeout, nice, nohup, setsid, time, env: the command after the options."""
    words = list(call.args)
    while words and (
        words[0].startswith("-") or re.fullmatch(r"[\d.]+[smh]?", words[0]) or re.fullmatch(r"\w+=.*", words[0])
    ):
        words.pop(0)
    return call.run(words)


def nothing(call: Call) -> None:
    """Taken, and without anything to see."""


def which(call: Call) -> int:
    from emulator.sim.shell.commands import all_commands

    known = all_commands()
    for name in call.args:
        if name in known:
            call.print(f"/system/bin/{name}")
    return 0 if all(name in known for name in call.args) else 1


def environment(call: Call) -> None:
    for line in ("ANDROID_DATA=/data", "EXTERNAL_STORAGE=/sdcard", "HOME=/", "PATH=/system/bin:/vendor/bin"):
        call.print(line)


COMMANDS: Commands = {
    "getprop": getprop, "setprop": setprop, "date": date, "sleep": sleep, "usleep": nothing, "wm": wm, "svc": svc, "service": service, "id": identity,
    "whoami": identity, "uname": uname, "uptime": uptime, "ps": ps, "pidof": pidof, "pgrep": pidof, "su": su, "timeout": timed, "nice": timed,
    "nohup": timed, "time": timed, "which": which, "command": which, "printenv": environment, "env": environment, "iptables": nothing,
    "ip6tables": nothing, "setenforce": nothing, "kill": nothing, "killall": nothing, "start": nothing, "stop": nothing, "settaskprofile": nothing,
}  # fmt: skip
