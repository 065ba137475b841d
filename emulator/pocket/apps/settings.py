"""Settings: what `state.device` holds. It has no data of its own but the networks and paired devices around."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial

from emulator.pocket.app import App, Ctx
from emulator.pocket.widgets import (
    Button,
    Choice,
    Dialog,
    Glyph,
    Group,
    Levels,
    Overlay,
    Page,
    Row,
    SwitchRow,
    Text,
)
from emulator.pocket.world import World

NETWORKS = ("Harbour", "Maple 5G", "Guest", "Cafe Luna", "Loft 12", "Library", "Orchid", "Station")
DEVICES = ("Buds Pro", "Car Kit", "Speaker", "Keyboard", "Watch S", "Tablet")
LANGUAGES = ("English", "Deutsch", "Dansk", "Italiano", "Magyar", "Nederlands", "Norsk", "Polski", "Suomi", "Svenska")
SLEEP = ("15 seconds", "30 seconds", "1 minute", "5 minutes", "10 minutes", "Never")
SIZES = ("Small", "Default", "Large", "Huge")
HUES = {
    "wifi": "#2F7BE0", "bluetooth": "#3A5FD0", "plane": "#E07B2F", "moon": "#6A58C9", "sun": "#E0A020", "volume": "#D0508C",
    "text": "#2E9E6B", "globe": "#2A93A8", "location": "#C7485A", "bell": "#8A6BD8", "timer": "#5C7A3A", "info": "#6B7080",
}  # fmt: skip


@dataclass(slots=True)
class SettingsData:
    """What is around: networks by name, devices and whether they are connected."""

    networks: list[str] = field(default_factory=list)
    devices: dict[str, bool] = field(default_factory=dict)


Settings = Ctx[SettingsData]


def _glyph(icon: str) -> Glyph:
    return Glyph(icon, HUES[icon])


class SettingsApp(App[SettingsData]):
    """One list of everything, a page for each longer matter."""

    name = "settings"
    title = "Settings"
    icon = "gear"
    accent = "#4C6FBF"
    aliases = ("setting", "system settings")

    def fresh(self, rng: random.Random, world: World) -> SettingsData:
        networks = ["Harbour", *rng.sample(NETWORKS[1:], 4)]
        rng.shuffle(networks)
        return SettingsData(networks, dict.fromkeys(rng.sample(DEVICES, 4), False))

    # ---- pages
    def page_main(self, ctx: Settings) -> Page:
        device = ctx.device
        wifi = device.network if device.wifi else "Off"
        bluetooth = "On" if device.bluetooth else "Off"
        return Page(
            "Settings",
            [
                Group(
                    [
                        Row("wifi", "Wi-Fi", value=wifi, leading=_glyph("wifi"), chevron=True, on_tap=partial(ctx.push, "wifi")),
                        Row("bluetooth", "Bluetooth", value=bluetooth, leading=_glyph("bluetooth"), chevron=True, on_tap=partial(ctx.push, "bluetooth")),
                        SwitchRow("airplane", "Airplane mode", device.airplane, partial(self._airplane, ctx), leading=_glyph("plane")),
                        SwitchRow("location", "Location", device.location, partial(_flip, ctx, "location"), leading=_glyph("location")),
                    ],
                    "Connections",
                ),
                Group(
                    [
                        SwitchRow("dark", "Dark theme", device.dark, partial(_flip, ctx, "dark"), leading=_glyph("moon")),
                        Row("display", "Display", leading=_glyph("sun"), chevron=True, on_tap=partial(ctx.push, "display")),
                        Row("sound", "Sound", leading=_glyph("volume"), chevron=True, on_tap=partial(ctx.push, "sound")),
                    ],
                    "Screen and sound",
                ),
                Group(
                    [
                        Row("language", "Language", value=device.language, leading=_glyph("globe"), chevron=True, on_tap=partial(ctx.push, "language")),
                        Row("about", "About phone", leading=_glyph("info"), chevron=True, on_tap=partial(ctx.push, "about")),
                    ],
                    "System",
                ),
            ],
        )  # fmt: skip

    def page_wifi(self, ctx: Settings) -> Page:
        device = ctx.device
        rows = [
            Choice(f"network.{name}", name, name == device.network, partial(ctx.open, "join", {"network": name}), leading=_glyph("wifi"))
            for name in ctx.data.networks
        ]  # fmt: skip
        switch = SwitchRow("wifi.switch", "Use Wi-Fi", device.wifi, partial(_flip, ctx, "wifi"))
        return Page("Wi-Fi", [switch, Group(rows, "Networks")] if device.wifi else [switch])

    def overlay_join(self, ctx: Settings) -> Overlay:
        name = ctx.arg("network")
        return Dialog(
            f"Join {name}?",
            "This network is open. No password is needed.",
            buttons=[
                Button("join.cancel", "Cancel", ctx.close, "tonal"),
                Button("join.ok", "Join", partial(self._join, ctx, name)),
            ],
        )

    def page_bluetooth(self, ctx: Settings) -> Page:
        device = ctx.device
        rows = [
            SwitchRow(f"device.{name}", name, on, partial(self._connect, ctx, name), "Connected" if on else "Not connected")
            for name, on in ctx.data.devices.items()
        ]  # fmt: skip
        switch = SwitchRow("bluetooth.switch", "Use Bluetooth", device.bluetooth, partial(self._bluetooth, ctx))
        return Page("Bluetooth", [switch, Group(rows, "Devices")] if device.bluetooth else [switch])

    def page_display(self, ctx: Settings) -> Page:
        device = ctx.device
        return Page(
            "Display",
            [
                Group([
                    Levels("brightness", "Brightness", device.brightness, partial(_level, ctx, "brightness"), caption=f"{device.brightness * 20}%", leading=_glyph("sun")),
                    Row("text_size", "Text size", value=device.text_size, leading=_glyph("text"), chevron=True, on_tap=partial(ctx.push, "text_size")),
                    Row("sleep", "Sleep after", value=device.sleep, leading=_glyph("timer"), chevron=True, on_tap=partial(ctx.push, "sleep")),
                ]),
            ],
        )  # fmt: skip

    def page_sound(self, ctx: Settings) -> Page:
        device = ctx.device
        volume = Levels("volume", "Volume", device.volume, partial(_level, ctx, "volume"), caption=f"{device.volume * 20}%", leading=_glyph("volume"))  # fmt: skip
        silent = SwitchRow(
            "silent", "Silent", device.silent, partial(_flip, ctx, "silent"), "No sound for calls", _glyph("bell")
        )
        return Page("Sound", [Group([volume, silent])])

    def page_language(self, ctx: Settings) -> Page:
        return self._list(ctx, "Language", "language", LANGUAGES)

    def page_text_size(self, ctx: Settings) -> Page:
        return self._list(ctx, "Text size", "text_size", SIZES)

    def page_sleep(self, ctx: Settings) -> Page:
        return self._list(ctx, "Sleep after", "sleep", SLEEP)

    def page_about(self, ctx: Settings) -> Page:
        facts = {"Model": "Pocket 1", "System": "Pocket 4.2", "Storage": "64 GB", "Battery": f"{ctx.device.battery}%"}
        rows = [Row(f"about.{key.lower()}", key, value=value) for key, value in facts.items()]
        return Page("About phone", [Group(rows), Text("A simulated phone.", "muted", "center")])

    @staticmethod
    def _list(ctx: Settings, title: str, name: str, options: tuple[str, ...]) -> Page:
        chosen = getattr(ctx.device, name)
        rows = [
            Choice(f"{name}.{option}", option, option == chosen, partial(_choose, ctx, name, option))
            for option in options
        ]
        return Page(title, [Group(rows)])

    # ---- changes
    @staticmethod
    def _airplane(ctx: Settings) -> None:
        """Airplane mode switches the radios off; leaving it switches Wi-Fi back on."""
        device = ctx.device
        device.airplane = not device.airplane
        device.wifi = not device.airplane
        if device.airplane:
            device.bluetooth = False

    @staticmethod
    def _join(ctx: Settings, network: str) -> None:
        ctx.device.network = network
        ctx.toast(f"Joined {network}")

    @staticmethod
    def _bluetooth(ctx: Settings) -> None:
        _flip(ctx, "bluetooth")
        if not ctx.device.bluetooth:
            ctx.data.devices = dict.fromkeys(ctx.data.devices, False)

    @staticmethod
    def _connect(ctx: Settings, name: str) -> None:
        ctx.data.devices[name] = not ctx.data.devices[name]


def _flip(ctx: Settings, name: str) -> None:
    setattr(ctx.device, name, not getattr(ctx.device, name))


def _level(ctx: Settings, name: str, value: int) -> None:
    setattr(ctx.device, name, value)


def _choose(ctx: Settings, name: str, option: str) -> None:
    setattr(ctx.device, name, option)
