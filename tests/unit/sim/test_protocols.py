"""Bytes on the wire: adb packets, protocol buffers, log lines, touches, the console."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.sim.adbd.packets import MAX_PAYLOAD, Command, Packet, PacketError, PacketReader
from emulator.sim.console import Console, Quit, Refused
from emulator.sim.faults import Faults
from emulator.sim.forwarder import forest
from emulator.sim.protobuf import Message, encode, packed
from emulator.sim.screens.base import Screen
from emulator.sim.touches import Touches
from emulator.sim.ui import Element, uiautomator_xml
from sopbench.datasets.wire import WireError
from sopbench.geometry import Size
from tests.unit.sim.machine import Machine, pocket

PACKETS = st.builds(
    Packet, st.sampled_from(Command), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.binary(max_size=300)
)


@given(st.lists(PACKETS, max_size=6), st.integers(1, 50))
def test_packets_survive_any_cutting(packets: list[Packet], step: int) -> None:
    data = b"".join(packet.encode() for packet in packets)
    reader = PacketReader()
    found = [packet for at in range(0, len(data), step) for packet in reader.feed(data[at : at + step])]
    assert found == packets


@given(st.binary(min_size=24, max_size=200))
def test_noise_is_no_packet(data: bytes) -> None:
    reader = PacketReader()
    try:
        packets = reader.feed(data)
    except PacketError:
        return
    assert b"".join(packet.encode()[:12] for packet in packets) in data or not packets


def test_a_huge_payload_is_refused_before_it_comes() -> None:
    head = Packet(Command.WRTE, 1, 1).encode()
    with pytest.raises(PacketError, match="more than"):
        PacketReader().feed(head[:12] + (MAX_PAYLOAD * 4 + 1).to_bytes(4, "little") + head[16:])


@given(st.integers(-(2**63), 2**63 - 1), st.text(max_size=20), st.binary(max_size=20))
def test_messages_come_back(number: int, text: str, data: bytes) -> None:
    message = Message(encode((1, number), (2, text), (3, encode((7, data)))))
    assert message.number(1) == number
    assert message.text(2).encode("utf-8", "replace") == text.encode("utf-8", "replace")
    assert [inner.text(7) for inner in message.messages(3)] == [data.decode("utf-8", "replace")]


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_not(data: bytes) -> None:
    with contextlib.suppress(WireError):
        assert Message(data).number(1) is not None


def test_known_bytes_of_a_message() -> None:
    assert encode((1, 150)) == b"\x08\x96\x01"  # the example of "Encoding" in the protocol buffers documentation
    assert encode((2, "testing")) == b"\x12\x07testing"
    assert encode((4, "")) == encode((4, 0)) == b""
    assert encode(packed(6, [3, 270, 86942])) == b"\x32\x06\x03\x8e\x02\x9e\xa7\x05"


def test_a_forest_has_the_elements_below_their_parents() -> None:
    elements = [
        Element("row", "c", (0, 0, 10, 10), "Row", clickable=True),
        Element("row.value", "c", (1, 1, 5, 5), "on", parent="row"),
    ]
    (window,) = Message(forest(elements, Size(20, 40))).messages(1)
    nodes = window.messages(11)[0].messages(1)
    assert [node.text(7) for node in nodes] == ["", "Row", "on"]
    assert [node.number(14) for node in nodes] == [0, 1, 0]
    assert [node.text(25).encode() for node in nodes] == [b"\x01", b"\x02", b""]
    assert [node.number(27) for node in nodes] == [0, 1, 2]


def test_xml_of_hostile_texts_is_well_formed() -> None:
    from xml.etree import ElementTree

    texts = ['<a href="x">&', "\x00\x07\ud800", "]]>", "ä€😀", "'\"\n"]
    elements = [
        Element(f"n{place}", "c", (0, 0, 1, 1), text, parent=f"n{place - 1}") for place, text in enumerate(texts)
    ]
    root = ElementTree.fromstring(uiautomator_xml(elements, Size(10, 10)))
    found = [node.attrib["text"] for node in root.iter("node")]
    assert found[1:] == ['<a href="x">&', "...", "]]>", "ä€😀", "'\"\n"]


class Recorder:
    """Stands in for a screen."""

    def __init__(self) -> None:
        self.seen: list[tuple[object, ...]] = []

    def tap(self, *facts: float) -> None:
        self.seen.append(("tap", *facts))

    def hold(self, x: float, y: float, ms: float) -> None:
        self.seen.append(("hold", x, y, round(ms)))

    def swipe(self, *facts: float) -> None:
        self.seen.append(("swipe", *(round(fact) for fact in facts)))


def test_fingers_become_gestures() -> None:
    now = [0.0]
    seen = Recorder()
    touches = Touches(seen, lambda: now[0])  # type: ignore[arg-type]  # as much of a screen as touches use
    touches.event(0, 10, 20, down=True)
    touches.event(0, 12, 22, down=True)
    touches.event(0, 12, 22, down=False)
    touches.event(1, 50, 50, down=True)
    now[0] = 0.7
    touches.event(1, 50, 50, down=False)
    touches.event(2, 0, 0, down=True)
    touches.event(2, 0, 300, down=True)
    now[0] = 1.0
    touches.event(2, 0, 300, down=False)
    touches.event(3, 0, 0, down=False)
    assert seen.seen == [("tap", 10, 20), ("hold", 50, 50, 700), ("swipe", 0, 0, 0, 300, 300)]


def console(screen: Screen | None = None) -> tuple[Console, Machine]:
    machine = Machine(screen)
    return Console(machine.android, "emulator-5554", lambda: None), machine


def test_the_console_keeps_snapshots_and_takes_calls_and_messages() -> None:
    talk, machine = console()
    assert talk.answer("avd name") == ["emulator-5554"]
    talk.answer("avd snapshot save clean")
    talk.answer("sms send +1555 hello there  you")
    assert "body=hello there  you" in machine.out("content query --uri content://sms/inbox")
    talk.answer("gsm call 5551234")
    assert "mCallState=1" in machine.out("dumpsys telephony.registry")
    talk.answer("avd snapshot load clean")
    assert machine.out("content query --uri content://sms/inbox") == "No result found.\n"
    assert "mCallState=0" in machine.out("dumpsys telephony.registry")
    assert talk.answer("avd snapshot list")[1:] == ["clean"]
    talk.answer("avd snapshot delete clean")
    for line in ("avd snapshot load clean", "avd snapshot save a/b", "nonsense", "fault set nonsense", "gsm"):
        with pytest.raises(Refused):
            talk.answer(line)
    with pytest.raises(Quit):
        talk.answer("quit")


def test_the_console_switches_faults() -> None:
    talk, machine = console()
    talk.answer("fault set black_screen")
    assert machine.android.faults.active() == ["black_screen"]
    assert any(line.startswith("black_screen") and line.endswith("(on)") for line in talk.answer("fault list"))
    talk.answer("fault clear")
    assert machine.android.faults.active() == []


def test_faults_end_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("emulator.sim.faults.time.monotonic", lambda: now[0])
    faults = Faults()
    faults.set("offline", 5)
    assert faults.on("offline")
    now[0] = 105.0
    assert not faults.on("offline")
    faults.set("slow_boot", 7)
    assert faults.take_boot_delay() == 7
    assert faults.take_boot_delay() == 0
    with pytest.raises(ValueError, match="no fault 'x'"):
        faults.set("x")


@given(st.text(max_size=60))
def test_any_line_of_the_console_is_answered(line: str) -> None:
    with contextlib.suppress(Refused, Quit):
        assert all(isinstance(text, str) for text in CONSOLE.answer(line))


CONSOLE = console(pocket()[1])[0]
