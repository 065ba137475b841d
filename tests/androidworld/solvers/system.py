"""Tasks about the system: its settings, its clipboard, an app in front."""

from __future__ import annotations

from typing import Final

from tests.androidworld.solvers.work import Solver, Work

ACTIVITIES: Final = {
    "camera": "com.android.camera2/com.android.camera.CameraLauncher",
    "clock": "com.google.android.deskclock/com.android.deskclock.DeskClock",
    "contacts": "com.google.android.contacts/com.android.contacts.activities.PeopleActivity",
    "dialer": "com.google.android.dialer/com.google.android.dialer.extensions.GoogleDialtactsActivity",
    "settings": "com.android.settings/.Settings",
}


def _radio(work: Work, name: str, state: str) -> None:
    work.shell("svc", name, "enable" if state == "on" else "disable")


def wifi(work: Work) -> None:
    _radio(work, "wifi", work.params["on_or_off"])


def bluetooth(work: Work) -> None:
    _radio(work, "bluetooth", work.params["on_or_off"])


def brightness(work: Work) -> None:
    value = {"max": "255", "min": "1"}[work.params["max_or_min"]]
    work.shell("settings", "put", "system", "screen_brightness", value)


def clipboard(work: Work) -> None:
    work.shell("am", "broadcast", "-a", "clipper.set", "-e", "text", work.params["clipboard_content"])


def open_app(work: Work) -> None:
    work.shell("am", "start", "-n", ACTIVITIES[work.params["app_name"]])


def wifi_and_app(work: Work) -> None:
    _radio(work, "wifi", "on")
    open_app(work)


def wifi_off_bluetooth_on(work: Work) -> None:
    _radio(work, "wifi", "off")
    _radio(work, "bluetooth", "on")


SYSTEM: Final[dict[str, Solver]] = {
    "OpenAppTaskEval": open_app,
    "SystemBluetoothTurnOff": bluetooth,
    "SystemBluetoothTurnOn": bluetooth,
    "SystemBrightnessMax": brightness,
    "SystemBrightnessMin": brightness,
    "SystemCopyToClipboard": clipboard,
    "SystemWifiTurnOff": wifi,
    "SystemWifiTurnOn": wifi,
    "TurnOffWifiAndTurnOnBluetooth": wifi_off_bluetooth_on,
    "TurnOnWifiAndOpenApp": wifi_and_app,
}
