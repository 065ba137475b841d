"""Tasks in Settings."""

from __future__ import annotations

import random
from typing import ClassVar

from emulator.pocket.apps.settings import LANGUAGES, SIZES, SLEEP
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template, answered
from emulator.pocket.tasks.expert import Expert, hop

WIFI, BLUETOOTH, DISPLAY, SOUND = (hop(page, page) for page in ("wifi", "bluetooth", "display", "sound"))


class InSettings(Template):
    apps: ClassVar[tuple[str, ...]] = ("settings",)


class Join(InSettings):
    name = "settings.join"
    goals = (
        "Connect to the Wi-Fi network {network}{in_app}",
        "Join the wireless network {network}{in_app}",
        "Switch the Wi-Fi{in_app} over to the network {network}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"network": rng.choice([n for n in state.apps["settings"].networks if n != state.device.network])}

    def want(self, state: PhoneState, p: Params) -> None:
        state.device.network = p["network"]

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("settings", WIFI)
        yield from x.tap(f"network.{p['network']}", "join.ok", about={"network": p["network"]})


class JoinFromOff(Join):
    name = "settings.join_off"
    goals = (
        "Turn location {to} and Wi-Fi on, and join the network {network}{in_app}",
        "Wi-Fi is off. Switch location {to}{in_app}, then turn on Wi-Fi and connect to {network}",
        "Change the connections{in_app}: location {to}, Wi-Fi on, network {network}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"location": rng.random() < 0.5}

    def words(self, p: Params) -> Params:
        return p | {"to": _on(p["location"])}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.wifi = False
        state.device.location = not p["location"]

    def want(self, state: PhoneState, p: Params) -> None:
        device = state.device
        device.location, device.wifi, device.network = p["location"], True, p["network"]

    def plan(self, x: Expert, p: Params) -> Plan:
        if x.state.device.location != p["location"]:
            yield from x.go("settings")
            yield from x.tap("location")
        yield from x.go("settings", WIFI)
        if not x.state.device.wifi:
            yield from x.tap("wifi.switch")
        yield from x.tap(f"network.{p['network']}", "join.ok", about={"network": p["network"]})


class Pair(InSettings):
    name = "settings.pair"
    goals = (
        "Turn on Bluetooth{in_app} and connect {first} and {second}",
        "Connect the Bluetooth devices {first} and {second}{in_app}; Bluetooth is still off",
        "Switch Bluetooth on{in_app}, then connect to {first} and to {second}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        first, second = rng.sample(list(state.apps["settings"].devices), 2)
        return {"first": first, "second": second}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.bluetooth = False

    def want(self, state: PhoneState, p: Params) -> None:
        state.device.bluetooth = True
        state.apps["settings"].devices.update({p["first"]: True, p["second"]: True})

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("settings", BLUETOOTH)
        devices = x.data("settings").devices
        if not x.state.device.bluetooth:
            yield from x.tap("bluetooth.switch")
        yield from x.tap(f"device.{p['second'] if devices[p['first']] else p['first']}")


class SwapDevice(InSettings):
    name = "settings.swap_device"
    heldout = True
    goals = (
        "Disconnect the Bluetooth device {old}{in_app} and connect {new}",
        "In the Bluetooth list{in_app}, disconnect {old} and connect {new} instead",
        "Let {old} go{in_app} and connect {new} by Bluetooth",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        old, new = rng.sample(list(state.apps["settings"].devices), 2)
        return {"old": old, "new": new}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.bluetooth = True
        state.apps["settings"].devices[p["old"]] = True

    def want(self, state: PhoneState, p: Params) -> None:
        state.apps["settings"].devices.update({p["old"]: False, p["new"]: True})

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("settings", BLUETOOTH)
        devices = x.data("settings").devices
        yield from x.tap(f"device.{p['old']}" if devices[p["old"]] else f"device.{p['new']}")


class Look(InSettings):
    name = "settings.look"
    goals = (
        "Turn the dark theme {to} and set the brightness to {percent}%{in_app}",
        "Change how the screen looks{in_app}: dark theme {to}, brightness at {percent}%",
        "Switch the dark theme {to}{in_app}, then bring the brightness to {percent}%",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"dark": rng.random() < 0.5, "brightness": rng.randrange(6)}

    def words(self, p: Params) -> Params:
        return {"to": _on(p["dark"]), "percent": p["brightness"] * 20}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.dark = not p["dark"]
        state.device.brightness = _other_level(p["brightness"], rng)

    def want(self, state: PhoneState, p: Params) -> None:
        state.device.dark, state.device.brightness = p["dark"], p["brightness"]

    def plan(self, x: Expert, p: Params) -> Plan:
        if x.state.device.dark != p["dark"]:
            yield from x.go("settings")
            yield from x.tap("dark")
        yield from x.go("settings", DISPLAY)
        yield from x.tap(f"brightness.{p['brightness']}")


class Sound(InSettings):
    name = "settings.sound"
    goals = (
        "Set the volume to {percent}% and turn silent mode {to}{in_app}",
        "Bring the volume to {percent}%{in_app} and switch silent mode {to}",
        "On the sound page{in_app}, set volume {percent}% and silent {to}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"volume": rng.randrange(6), "silent": rng.random() < 0.5}

    def words(self, p: Params) -> Params:
        return {"to": _on(p["silent"]), "percent": p["volume"] * 20}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.silent = not p["silent"]
        state.device.volume = _other_level(p["volume"], rng)

    def want(self, state: PhoneState, p: Params) -> None:
        state.device.volume, state.device.silent = p["volume"], p["silent"]

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("settings", SOUND)
        yield from x.tap("silent" if x.state.device.volume == p["volume"] else f"volume.{p['volume']}")


class Language(InSettings):
    name = "settings.language"
    goals = (
        "Change the phone's language to {language}{in_app}",
        "Set the language{in_app} to {language}",
        "Let the phone speak {language}: choose that language{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"language": rng.choice([name for name in LANGUAGES if name != state.device.language])}

    def want(self, state: PhoneState, p: Params) -> None:
        state.device.language = p["language"]

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("settings", hop("language", "language"))
        yield from x.tap(f"language.{p['language']}")


class TextAndSleep(InSettings):
    name = "settings.text_and_sleep"
    goals = (
        "Set the text size to {text_size} and let the screen sleep after {sleep}{in_app}",
        "Change two things of the display{in_app}: text size {text_size}, sleep after {sleep}",
        "Make the text size {text_size}{in_app}, then set the sleep time to {sleep}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"text_size": rng.choice(SIZES), "sleep": rng.choice(SLEEP)}

    def words(self, p: Params) -> Params:
        return p | {"sleep": p["sleep"].lower()}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.text_size = rng.choice([size for size in SIZES if size != p["text_size"]])
        state.device.sleep = rng.choice([time for time in SLEEP if time != p["sleep"]])

    def want(self, state: PhoneState, p: Params) -> None:
        state.device.text_size, state.device.sleep = p["text_size"], p["sleep"]

    def plan(self, x: Expert, p: Params) -> Plan:
        todo = "sleep" if x.state.device.text_size == p["text_size"] else "text_size"
        yield from x.go("settings", DISPLAY, hop(todo, todo))
        yield from x.tap(f"{todo}.{p[todo]}")


class LocationAndSleep(InSettings):
    name = "settings.location_and_sleep"
    goals = (
        "Turn location {to} and let the screen go to sleep after {sleep}{in_app}",
        "Switch location {to}{in_app} and set the display to sleep after {sleep}",
        "Save power{in_app}: location {to}, screen off after {sleep}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"location": rng.random() < 0.5, "sleep": rng.choice([time for time in SLEEP if time != "Never"])}

    def words(self, p: Params) -> Params:
        return {"to": _on(p["location"]), "sleep": p["sleep"]}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.location = not p["location"]
        state.device.sleep = rng.choice([time for time in SLEEP if time != p["sleep"]])

    def want(self, state: PhoneState, p: Params) -> None:
        state.device.location, state.device.sleep = p["location"], p["sleep"]

    def plan(self, x: Expert, p: Params) -> Plan:
        if x.state.device.location != p["location"]:
            yield from x.go("settings")
            yield from x.tap("location")
        yield from x.go("settings", DISPLAY, hop("sleep", "sleep"))
        yield from x.tap(f"sleep.{p['sleep']}")


class About(InSettings):
    """A question about the phone; the battery's level differs from phone to phone."""

    name = "settings.about"
    goals = (
        "Look up{in_app} how full the battery is and answer with the percentage",
        "What does the page about the phone{in_app} say about the battery? Answer with it",
        "Find the battery level on the page about this phone{in_app} and tell me the percentage",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"battery": rng.randrange(5, 100)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.battery = p["battery"]

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        return float(answered(before, state, f"{p['battery']}%", str(p["battery"]), f"{p['battery']} %"))

    def plan(self, x: Expert, p: Params) -> Plan:
        if not x.saw("about.battery"):
            yield from x.go("settings", hop("about", "about"))
            yield from x.show("about.battery")
        yield x.answer(f"{p['battery']}%")


class Flight(InSettings):
    name = "settings.flight"
    heldout = True
    goals = (
        "Set the volume to {percent}% and turn on airplane mode{in_app}",
        "Get ready to fly{in_app}: volume at {percent}%, then airplane mode on",
        "Before take-off, bring the volume{in_app} to {percent}% and switch airplane mode on",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"volume": rng.randrange(6)}

    def words(self, p: Params) -> Params:
        return {"percent": p["volume"] * 20}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.volume = _other_level(p["volume"], rng)

    def want(self, state: PhoneState, p: Params) -> None:
        device = state.device
        device.volume, device.airplane, device.wifi, device.bluetooth = p["volume"], True, False, False

    def plan(self, x: Expert, p: Params) -> Plan:
        if x.state.device.volume != p["volume"]:
            yield from x.go("settings", SOUND)
            yield from x.tap(f"volume.{p['volume']}")
        yield from x.go("settings")
        yield from x.tap("airplane")


def _on(value: bool) -> str:
    return "on" if value else "off"


def _other_level(level: int, rng: random.Random) -> int:
    return rng.choice([other for other in range(6) if other != level])


TEMPLATES: tuple[type[Template], ...] = (
    Join,
    JoinFromOff,
    Pair,
    SwapDevice,
    Look,
    Sound,
    Language,
    TextAndSleep,
    LocationAndSleep,
    About,
    Flight,
)
