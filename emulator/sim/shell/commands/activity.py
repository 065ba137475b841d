"""Activities and broadcasts: am, monkey, and `cmd activity`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.sim.screens.base import Intent
from emulator.sim.shell.call import Call, Commands, Failed

TASK_ID: Final = 12
_TYPED: Final[dict[str, Callable[[str], str | int | float | bool]]] = {
    "--es": str, "-e": str, "--eu": str, "--ecn": str, "--ez": lambda text: text.lower() in ("true", "1", "t"), "--ei": int, "--el": int, "--ef": float,
}  # fmt: skip
_FLAGS: Final = frozenset(["-W", "-D", "-N", "-S", "-R", "--activity-clear-top", "--activity-clear-task", "--activity-brought-to-front",
    "--activity-no-history", "--include-stopped-packages", "--receiver-foreground", "--grant-read-uri-permission",
    "--grant-write-uri-permission", "--activity-single-top", "--activity-reset-task-if-needed", "--sticky", "--async"])  # fmt: skip
_VALUED: Final = frozenset(
    [
        "-f",
        "--user",
        "--display",
        "--windowingMode",
        "-P",
        "--start-profiler",
        "--receiver-permission",
        "--allow-background-activity-starts",
    ]
)


def intent_of(words: list[str]) -> tuple[Intent, set[str]]:
    """The intent that options describe, and the flags among them. Raises `Failed`."""
    facts: dict[str, str] = {}
    categories: list[str] = []
    extras: dict[str, str | int | float | bool | tuple[str, ...]] = {}
    flags: set[str] = set()
    words = [word for word in words if word]
    while words:
        word = words.pop(0)
        if word in _FLAGS:
            flags.add(word)
        elif word in _TYPED or word in ("--esa", "--eia", "--ela", "--efa"):
            if len(words) < 2:
                raise Failed(f'Argument expected after "{word}"', 255)
            name, value = words.pop(0), words.pop(0)
            try:
                extras[name] = _TYPED[word](value[:20_000]) if word in _TYPED else tuple(value.split(","))
            except ValueError:
                raise Failed(f"Invalid value for {word}: {value[:40]}", 255) from None
        elif word == "--esn":
            words[:1] = []
        elif word in ("-a", "-n", "-d", "-t", "-p", "-c") or word in _VALUED:
            if not words:
                raise Failed(f'Argument expected after "{word}"', 255)
            value = words.pop(0)
            if word == "-c":
                categories.append(value)
            else:
                facts[word] = value
        elif word.startswith("-"):
            raise Failed(f"Unknown option: {word[:40]}", 255)
        elif "/" in word and ":" not in word:
            facts["-n"] = word
        elif ":" in word:
            facts["-d"] = word
        else:
            facts["-p"] = word
    intent = Intent(
        facts.get("-a", ""), facts.get("-n", ""), facts.get("-d", ""), facts.get("-t", ""), facts.get("-p", ""), tuple(categories), extras
    )  # fmt: skip
    return intent, flags


def told(intent: Intent) -> str:
    """As am prints an intent."""
    parts = [
        f"{key}={value}"
        for key, value in (
            ("act", intent.action),
            ("dat", intent.data),
            ("typ", intent.type),
            ("pkg", intent.package),
            ("cmp", intent.component),
        )
        if value
    ]
    return "Intent { " + " ".join(parts) + (" (has extras)" if intent.extras else "") + " }"


def am(call: Call) -> int:
    if not call.args:
        raise Failed("no command", 255)
    verb, *words = call.args
    action = _VERBS.get(verb)
    if action is None:
        raise Failed(f"Unknown command: {verb[:40]} (not simulated, or no such command)", 255)
    return action(call, words)


def _start(call: Call, words: list[str]) -> int:
    intent, flags = intent_of(words)
    android = call.android
    call.print(f"Starting: {told(intent)}")
    with android.lock:
        if "-S" in flags and intent.component:
            android.screen.stop(intent.component.partition("/")[0])
        done = android.screen.start(intent)
        front = android.screen.foreground
    if not done:
        call.print(
            "Error: Activity not started, unable to resolve " + told(intent)
            if not intent.component
            else f"Error type 3\nError: Activity class {{{intent.component}}} does not exist."
        )
        return 1
    android.log.write("I", "ActivityTaskManager", f"START u0 {told(intent)} from uid 0")
    android.log.write("I", "ActivityTaskManager", f"Displayed {front}: +120ms")
    if "-W" in flags:
        call.print(f"Status: ok\nLaunchState: COLD\nActivity: {front}\nTotalTime: 120\nWaitTime: 130\nComplete")
    return 0


def _broadcast(call: Call, words: list[str]) -> int:
    intent, _ = intent_of(words)
    call.print(f"Broadcasting: {told(intent)}")
    if intent.action == "accessibility_forwarder.intent.action.SET_GRPC":
        port, host = intent.extras.get("port"), intent.text("host")
        if isinstance(port, int) and 0 < port < 65536 and host in ("", "10.0.2.2", "localhost", "127.0.0.1"):
            call.android.forwarder_port = port
    with call.android.lock:
        reply = call.android.screen.receive(intent)
    if reply is None or reply.data is None:
        call.print(f"Broadcast completed: result={reply.result if reply else 0}")
    else:
        call.print(f'Broadcast completed: result={reply.result}, data="{reply.data}"')
    return 0


def _stop(call: Call, words: list[str]) -> int:
    names = [word for word in words if not word.startswith("-") and not word.isdigit()]
    with call.android.lock:
        for name in names:
            call.android.screen.stop(name)
            call.android.log.write("I", "ActivityManager", f"Force stopping {name}")
    return 0


def _stack(call: Call, words: list[str]) -> int:
    if words[:1] != ["list"]:
        return 0
    with call.android.lock:
        front, size = call.android.screen.foreground, call.android.screen.size
    box = f"bounds=[0,0][{size.width},{size.height}]"
    call.print(f"RootTask id={TASK_ID} {box} displayId=0 userId=0")
    call.print(f"  taskId={TASK_ID}: {front} {box} userId=0 visible=true topActivity=ComponentInfo{{{front}}}")
    return 0


def _nothing(call: Call, words: list[str]) -> int:
    return 0


_VERBS: Final[dict[str, Callable[[Call, list[str]], int]]] = {
    "start": _start, "start-activity": _start, "broadcast": _broadcast, "force-stop": _stop, "kill": _stop, "stack": _stack, "startservice": _nothing,
    "start-service": _nothing, "start-foreground-service": _nothing, "stopservice": _nothing, "kill-all": _nothing, "task": _nothing,
    "wait-for-broadcast-idle": _nothing, "switch-user": _nothing, "set-debug-app": _nothing, "clear-debug-app": _nothing,
}  # fmt: skip


def monkey(call: Call) -> int:
    """`monkey -p PACKAGE [-c CATEGORY] 1` starts an app; no random events are simulated."""
    _, values, _ = call.split("v", "pcs")
    name = values.get("p", "")
    with call.android.lock:
        done = call.android.screen.launch(name)
    if not done:
        call.print("** No activities found to run, monkey aborted.")
        return 252
    call.print("Events injected: 1\n## Network stats: elapsed time=10ms (0ms mobile, 0ms wifi, 10ms not connected)")
    return 0


COMMANDS: Commands = {"am": am, "monkey": monkey}
