"""A page of Chromium as a phone's screen, touched and read through the genuine adb."""

from __future__ import annotations

import shutil
from xml.etree import ElementTree

import pytest
from conftest import Phones

from sopbench.geometry import Size

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(
        shutil.which("chromium") is None, reason="no chromium on this machine: apt-get install chromium"
    ),
]
PAGE = (
    "data:text/html,<body style='margin:0'><input id=field placeholder=name style='position:absolute;left:10px;top:20px;width:150px;height:40px'>"
    "<button id=go style='position:absolute;left:10px;top:100px;width:100px;height:60px' "
    "onclick='document.title=field.value;out.textContent=%22hello %22%2Bfield.value'>Go</button>"
    "<p id=out style='position:absolute;top:200px'>nothing</p><p style='position:absolute;top:2000px'>far</p></body>"
)


def test_a_page_is_touched_typed_into_and_read(phones: Phones) -> None:
    phone = phones("browser", "chromium", url=PAGE, in_process=True)
    screen = phone.screenshot(within=30)
    assert screen.size == Size(1080, 2400)

    def nodes() -> dict[str, dict[str, str]]:
        text = phone.shell("uiautomator", "dump", "/dev/tty").text.partition("UI hier")[0]
        return {node.attrib["resource-id"]: node.attrib for node in ElementTree.fromstring(text).iter("node")}

    before = nodes()
    assert before["go"]["bounds"] == "[50,500][550,800]"
    assert before["field"]["class"] == "android.widget.EditText"
    phone.shell("input", "tap", "300", "200")
    phone.shell("input", "text", 'Ada%sB"; alert(1)')
    phone.shell("input", "tap", "300", "650")
    assert nodes()["out"]["text"] == 'hello Ada B"; alert(1)'
    assert phone.screenshot().sha256 != screen.sha256
    phone.shell("input", "swipe", "500", "2000", "500", "800", "200")
    assert nodes()["go"]["bounds"] != before["go"]["bounds"] if "go" in nodes() else True
    phone.shell("input", "keyevent", "KEYCODE_HOME")
    assert "NexusLauncher" in phone.shell("am", "stack", "list").text
    assert phone.health().ok
