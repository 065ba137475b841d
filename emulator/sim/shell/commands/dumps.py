"""The command `dumpsys`: the few services, and of them the few lines, that tools read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.sim.shell.call import Call, Commands, Failed
from emulator.sim.shell.commands.activity import TASK_ID


def dumpsys(call: Call) -> None:
    words = list(call.args)
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "-l":
            call.print("Currently running services:\n" + "\n".join(f"  {name}" for name in sorted(_SERVICES)))
            return
        if option in ("-t", "-T", "--priority", "--skip") and words:
            words.pop(0)
    if not words:
        raise Failed("name a service; -l lists them")
    show = _SERVICES.get(words[0])
    if show is None:
        call.err.write(b"Can't find service: " + words[0][:60].encode("utf-8", "replace") + b"\n")
        return
    with call.android.lock:
        show(call, words[1:])


def _input(call: Call, words: list[str]) -> None:
    size = call.android.screen.size
    frame = f"[0, 0, {size.width}, {size.height}]"
    call.print("INPUT MANAGER (dumpsys input)\n\nInput Reader State (Nums of device: 1):\n  Device 1: touchscreen")
    call.print(
        f"    Viewport INTERNAL: displayId=0, uniqueId=local:0, port=0, orientation=0, logicalFrame={frame}, physicalFrame={frame}, deviceSize=[{size.width}, {size.height}], isActive=[1]"
    )
    call.print(
        f"      PhysicalWidth: {size.width}px\n      PhysicalHeight: {size.height}px\n      SurfaceOrientation: 0\n      InputDeviceOrientation: 0"
    )


def _window(call: Call, words: list[str]) -> None:
    front = call.android.screen.foreground
    call.print("WINDOW MANAGER (dumpsys window)")
    call.print(
        f"  mCurrentFocus=Window{{5070be u0 {front}}}\n  mFocusedApp=ActivityRecord{{5070be u0 {front} t{TASK_ID}}}"
    )
    call.print("  mCurrentRotation=ROTATION_0\n  mRotation=0\n  isStatusBarKeyguard=false\n  mDreamingLockscreen=false")


def _activity(call: Call, words: list[str]) -> None:
    front = call.android.screen.foreground
    if words[:1] == ["recents"]:
        call.print("ACTIVITY MANAGER RECENT TASKS (dumpsys activity recents)")
        call.print(
            f"  * Recent #0: Task{{5070be #{TASK_ID} type=standard A=10000:{front.partition('/')[0]} U=0 visible=true}}"
        )
        return
    call.print("ACTIVITY MANAGER ACTIVITIES (dumpsys activity activities)")
    call.print(
        f"  topResumedActivity=ActivityRecord{{5070be u0 {front} t{TASK_ID}}}\n  mResumedActivity: ActivityRecord{{5070be u0 {front} t{TASK_ID}}}"
    )
    call.print(
        f"  TASK {front.partition('/')[0]} id={TASK_ID}\n    ACTIVITY {front} 5070be pid=4\n      View Hierarchy:"
    )
    for element in call.android.screen.elements():
        call.print(f"        {element.class_name}{{{element.id}}}")


def _telephony(call: Call, words: list[str]) -> None:
    phone = call.android.telephony
    call.print(
        f"last known state:\n  Phone Id=0\n    mCallState={phone.state}\n    mRingingCallState={phone.state}\n    mCallIncomingNumber={phone.number}"
    )


def _battery(call: Call, words: list[str]) -> None:
    call.print(
        "Current Battery Service state:\n  AC powered: true\n  status: 2\n  health: 2\n  present: true\n  level: 100\n  scale: 100"
    )


def _power(call: Call, words: list[str]) -> None:
    call.print(
        "POWER MANAGER (dumpsys power)\n  mWakefulness=Awake\n  mHoldingDisplaySuspendBlocker=true\nDisplay Power: state=ON"
    )


def _display(call: Call, words: list[str]) -> None:
    size = call.android.screen.size
    call.print(
        f'DISPLAY MANAGER (dumpsys display)\n  mScreenState=ON\n  mBaseDisplayInfo=DisplayInfo{{"Built-in Screen", real {size.width} x {size.height}}}'
    )


def _input_method(call: Call, words: list[str]) -> None:
    shown = any(element.focused and element.editable for element in call.android.screen.elements())
    call.print(f"Current Input Method Manager state:\n  mInputShown={str(shown).lower()}")


def _package(call: Call, words: list[str]) -> None:
    found = call.android.packages.get(words[0]) if words else None
    if found is None:
        call.print(f"Unable to find package: {words[0][:100] if words else ''}")
        return
    call.print(
        f"Packages:\n  Package [{found.name}] (5070be):\n    userId=10000\n    versionCode=1 minSdk=24 targetSdk=33\n    versionName=1.0"
    )
    for name, permission in sorted(call.android.packages.permissions):
        if name == found.name:
            call.print(f"      {permission}: granted=true")


def _empty(call: Call, words: list[str]) -> None:
    """A service that is there and says nothing."""


_SERVICES: Final[dict[str, Callable[[Call, list[str]], None]]] = {
    "input": _input, "window": _window, "activity": _activity, "telephony.registry": _telephony, "battery": _battery, "power": _power,
    "display": _display, "input_method": _input_method, "package": _package, "notification": _empty, "alarm": _empty, "wifi": _empty,
    "meminfo": _empty, "cpuinfo": _empty, "audio": _empty, "media_session": _empty, "SurfaceFlinger": _empty, "deviceidle": _empty,
}  # fmt: skip
COMMANDS: Commands = {"dumpsys": dumpsys}
