"""What the phone's commands print and do: the part that tools for Android rely on."""

from __future__ import annotations

import pytest

from emulator.sim.screens.desk import DeskScreen
from tests.unit.sim.machine import Machine, pocket


@pytest.fixture
def machine() -> Machine:
    made = Machine()
    made.out(
        "mkdir -p /sdcard/t/sub; echo one > /sdcard/t/a.txt; printf 'x\\ny\\nx\\n' > /sdcard/t/b; echo z > '/sdcard/t/sub/c d'"
    )
    return made


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("echo -n a; echo -e 'b\\tc'", "ab\tc\n"),
        ("cat /sdcard/t/a.txt /storage/emulated/0/t/a.txt /data/media/0/t/a.txt", "one\n" * 3),
        ("ls /sdcard/t", "a.txt\nb\nsub\n"),
        ("ls -1 /sdcard/t/*.txt", "/sdcard/t/a.txt\n"),
        ("cd /sdcard/t; ls *; pwd", "a.txt\nb\n\nsub:\nc d\n/storage/emulated/0/t\n"),
        ("find /sdcard/t -type f -o -type d", "/sdcard/t\n/sdcard/t/a.txt\n/sdcard/t/b\n/sdcard/t/sub\n/sdcard/t/sub/c d\n"),
        ("find /sdcard/t/ -mindepth 1 -maxdepth 1 -type d; find / -maxdepth 0", "/sdcard/t/sub\n/\n"),
        ("find /sdcard/t -name '*.txt' -o -name 'c*'", "/sdcard/t/a.txt\n/sdcard/t/sub/c d\n"),
        ("find /sdcard/t -maxdepth 1 -type f ! -name b", "/sdcard/t/a.txt\n"),
        ("find /sdcard/t -type f -exec cat {} \\;", "one\nx\ny\nx\nz\n"),
        ("find /sdcard/t -mindepth 1 -delete; ls -a /sdcard/t", ".\n..\n"),
        ("stat -c '%s %F %a' /sdcard/t/a.txt", "4 regular file 660\n"),
        ("md5sum /sdcard/t/a.txt", "5bbf5a52328e7439ae6e719dfe712200  /sdcard/t/a.txt\n"),
        ("wc -l < /sdcard/t/b", "3\n"),
        ("sort /sdcard/t/b | uniq -c", "      2 x\n      1 y\n"),
        ("grep -n x /sdcard/t/b | cut -d: -f1", "1\n3\n"),
        ("head -1 /sdcard/t/b; tail -n 1 /sdcard/t/b", "x\nx\n"),
        ("echo a-b | tr - _ | sed s/a/A/", "A_b\n"),
        ("cp -a /sdcard/t/. /sdcard/u/ 2>/dev/null || mkdir /sdcard/u && cp -a /sdcard/t/. /sdcard/u/; cat '/sdcard/u/sub/c d'", "z\n"),
        ("mv /sdcard/t/a.txt /sdcard/t/sub; ls /sdcard/t/sub", "a.txt\nc d\n"),
        ("rm -r /sdcard/t/*; ls /sdcard/t; echo $?", "0\n"),
        ("x=5; echo $x ${x}y \"$x z\" '$x'", "5 5y 5 z $x\n"),
        ("for f in 1 2; do echo n$f; done", "n1\nn2\n"),
        ("[ -f /sdcard/t/a.txt ] && echo yes || echo no; [ -d /nowhere ] || echo missing", "yes\nmissing\n"),
        ("\nif [ -d \"/sdcard/t\" ]; then\n    echo \"Exists\"\nelse\n    echo \"Does not exist\"\nfi\n", "Exists\n"),
        ("basename /a/b.txt .txt; dirname /a/b.txt; realpath /sdcard/..", "b\n/a\n/storage/emulated\n"),
        ("echo hi | tee /sdcard/t/n | cat; cat /sdcard/t/n", "hi\nhi\n"),
        ("seq 1 3 | xargs echo", "1 2 3\n"),
        ("echo aGk= | base64 -d", "hi"),
        ("su 0 whoami; id -u; timeout 5 echo t", "root\n0\nt\n"),
        ("export ANDROID_LOG_TAGS=\"\"; exec echo done", "done\n"),
        ("test 3 -gt 2 && test a != b && echo ok", "ok\n"),
    ],
)  # fmt: skip
def test_files_and_texts(machine: Machine, line: str, expected: str) -> None:
    assert machine.run(line)[1] == expected


def test_ls_long_shows_the_device_s_time_with_nanoseconds(machine: Machine) -> None:
    machine.out("touch -t 202310151534.05 /sdcard/t/a.txt")
    lines = machine.out("ls /sdcard/t -ll -au").splitlines()
    assert lines[0].startswith("total ")
    row = next(line for line in lines if line.endswith(" a.txt"))
    assert row.split() == ["-rw-rw----", "1", "root", "root", "4", "2023-10-15", "15:34:05.000000000", "+0000", "a.txt"]


@pytest.mark.parametrize(
    ("line", "code", "error"),
    [
        ("cat /nowhere", 1, "cat: /nowhere: No such file or directory\n"),
        ("cat /sdcard", 1, "cat: /sdcard: Is a directory\n"),
        ("ls /nowhere", 1, "ls: /nowhere: No such file or directory\n"),
        ("rm /sdcard/t", 1, "rm: /sdcard/t: Is a directory\n"),
        ("rmdir /sdcard/t", 1, "rmdir: /sdcard/t: Directory not empty\n"),
        ("mkdir /sdcard/t", 1, "mkdir: /sdcard/t: File exists\n"),
        ("mv /sdcard/t /sdcard/t/sub/x", 1, "mv: /sdcard/t/sub/x: Invalid argument\n"),
        ("cp -r /sdcard/t /sdcard/t/sub", 1, "cp: '/sdcard/t' into itself\n"),
        ("echo x > /nowhere/f", 1, "sh: /nowhere/f: No such file or directory\n"),
        ("ls -y", 1, "ls: Unknown option 'y' (not simulated, or no such option)\n"),
        ("rm -f /nowhere", 0, ""),
        ("exit 7; echo no", 7, ""),
        ("false; echo $?", 0, ""),
    ],
)
def test_errors(machine: Machine, line: str, code: int, error: str) -> None:
    got, _, err = machine.run(line)
    assert (got, err) == (code, error)


def test_settings(machine: Machine) -> None:
    assert machine.out("settings get system screen_brightness") == "102\n"
    machine.out("settings put system screen_brightness 255")
    assert machine.out("settings get system screen_brightness") == "255\n"
    assert machine.out("settings get global nothing") == "null\n"
    assert "wifi_on=1\n" in machine.out("settings list global")
    machine.out("svc wifi disable")
    assert machine.out("settings get global wifi_on") == "0\n"
    assert machine.out("settings delete global wifi_on") == "Deleted 1 rows\n"
    assert machine.run("settings get nowhere x")[0] == 255


def test_date_is_the_device_s_and_can_be_set(machine: Machine) -> None:
    assert machine.out("date") == "Sun Oct 15 15:34:00 UTC 2023\n"
    machine.out("date 122508302024.30")
    assert machine.out("date '+%Y-%m-%d %H:%M:%S'") == "2024-12-25 08:30:30\n"
    machine.out("date 0101120025")
    assert machine.out("date") == "Wed Jan  1 12:00:00 UTC 2025\n"
    assert machine.out("date +%s") == "1735732800\n"
    machine.out("sleep 90")
    assert machine.out("date +%H:%M:%S") == "12:01:30\n"
    assert machine.run("date 9999999999")[0] == 1


def test_packages(machine: Machine) -> None:
    assert "package:com.android.settings\n" in machine.out("pm list packages")
    assert machine.out("pm path com.android.settings") == "package:/data/app/com.android.settings/base.apk\n"
    machine.out("echo x > /data/data/com.android.settings/files/f; pm clear com.android.settings")
    assert machine.out("ls /data/data/com.android.settings/files") == ""
    machine.out(
        "echo PK > /data/local/tmp/org.example.app.apk; pm install -r -t -g /data/local/tmp/org.example.app.apk"
    )
    assert "package:org.example.app\n" in machine.out("pm list packages -3 org.example")
    machine.out("pm grant org.example.app android.permission.CAMERA")
    assert "android.permission.CAMERA: granted=true" in machine.out("dumpsys package org.example.app")
    assert machine.out("cmd package uninstall org.example.app") == "Success\n"
    assert machine.run("pm uninstall org.example.app")[0] == 1
    assert machine.run("pm grant no.such.app x")[0] == 255


def test_dumps_that_tools_read(machine: Machine) -> None:
    assert machine.out("wm size; wm density") == "Physical size: 1080x2400\nPhysical density: 420\n"
    assert "logicalFrame=[0, 0, 1080, 2400]" in machine.out("dumpsys input | grep logicalFrame")
    assert "mCurrentRotation=ROTATION_0" in machine.out("dumpsys window | grep mCurrentRotation")
    assert "mCallState=0" in machine.out("dumpsys telephony.registry")
    assert machine.out("getprop ro.build.version.sdk; getprop sys.boot_completed") == "33\n1\n"
    assert machine.run("dumpsys nothing")[2] == "Can't find service: nothing\n"


def test_activities(machine: Machine) -> None:
    assert "Status: ok" in machine.out("am start -S -W -n com.android.settings/.Settings")
    (line,) = machine.out("am stack list | grep -E visible=true").splitlines()
    assert line.endswith("visible=true topActivity=ComponentInfo{com.android.settings/.Settings}")
    machine.out("am force-stop com.android.settings")
    assert "NexusLauncher" in machine.out("am stack list")
    code, out, _ = machine.run("am start -n no.such.app/.Main")
    assert code == 1
    assert "Error" in out
    assert machine.run("am frobnicate")[0] == 255


def test_the_accessibility_forwarder_is_told_where_to_send_and_only_on_this_machine(machine: Machine) -> None:
    order = "am broadcast -a accessibility_forwarder.intent.action.SET_GRPC --ei port 4711 --es host"
    machine.out(f"{order} 93.184.216.34")
    assert machine.android.forwarder_port is None
    machine.out(f"{order} 10.0.2.2 -n com.google.androidenv.accessibilityforwarder/.FlagsBroadcastReceiver")
    assert machine.android.forwarder_port == 4711


def test_content_providers(machine: Machine) -> None:
    assert machine.out("content query --uri content://sms/inbox") == "No result found.\n"
    for address, body in (("+1555", "hello, you=2"), ("+1666", "second")):
        machine.out(
            f"content insert --uri content://sms/inbox --bind address:s:{address} --bind 'body:s:{body}' --bind date:l:1700000000000"
        )
    rows = machine.out("content query --uri content://sms/inbox --projection address:body:type --sort '_id ASC'")
    assert rows == "Row: 0 address=+1555, body=hello, you=2, type=1\nRow: 1 address=+1666, body=second, type=1\n"
    assert machine.out("content query --uri content://sms/sent") == "No result found.\n"
    machine.out("content update --uri content://sms --bind read:i:1 --where \"address='+1666'\"")
    assert machine.out("content query --uri content://sms/2 --projection read") == "Row: 0 read=1\n"
    machine.out("content delete --uri content://sms --where \"address='+1555'\"")
    assert (
        machine.out(
            "sqlite3 /data/data/com.android.providers.telephony/databases/mmssms.db 'SELECT address, body FROM sms;'"
        )
        == "+1666|second\n"
    )
    assert machine.run("content query --uri content://nowhere/x")[0] == 1
    assert machine.run("content query --uri content://sms --where '1; DROP TABLE sms'")[0] == 1
    assert machine.out("content query --uri content://sms --projection address") == "Row: 0 address=+1666\n"
    machine.out("content insert --uri content://settings/system --bind name:s:x --bind value:s:7")
    assert machine.out("settings get system x") == "7\n"


def test_a_message_is_sent_through_the_form_on_the_screen(machine: Machine) -> None:
    machine.out('am start -a android.intent.action.SENDTO -d sms:5551234 --es sms_body "on my way"')
    press(machine, "Send SMS")
    rows = machine.out("content query --uri content://sms/sent --projection address:body:type")
    assert rows == "Row: 0 address=5551234, body=on my way, type=2\n"


def press(machine: Machine, text: str) -> None:
    """Tap the middle of the element that says this."""
    left, top, right, bottom = next(
        element for element in machine.android.screen.elements() if element.text == text
    ).bounds
    machine.out(f"input tap {(left + right) // 2} {(top + bottom) // 2}")


def test_a_contact_is_added_through_the_form_on_the_screen(machine: Machine) -> None:
    machine.out(
        'am start -a android.intent.action.INSERT -t vnd.android.cursor.dir/contact -e name "Ada Byron" -e phone 5551234'
    )
    press(machine, "SAVE")
    rows = machine.out("content query --uri content://contacts/phones/ --projection display_name:number")
    assert rows == "Row: 0 display_name=Ada Byron, number=5551234\n"
    machine.out("pm clear com.android.providers.contacts")
    assert machine.out("content query --uri content://contacts/phones/") == "No result found.\n"


def test_a_forms_fields_take_what_is_typed_after_a_touch_on_them(machine: Machine) -> None:
    machine.out("am start -a android.intent.action.INSERT -t vnd.android.cursor.dir/contact")
    shown = {element.hint: element for element in machine.android.screen.elements() if element.hint}
    assert set(shown) == {"First name", "Last name", "Phone"}
    machine.out("input text lost")  # nothing has the focus yet
    for hint, words in (("First name", "Ada"), ("Last name", "Byronn"), ("Phone", "555-1234")):
        left, top, right, bottom = shown[hint].bounds
        machine.out(f"input tap {(left + right) // 2} {(top + bottom) // 2}; input text {words}")
        if hint == "Last name":
            machine.out("input keyevent KEYCODE_DEL")
    press(machine, "Mobile")
    press(machine, "Home")
    after = {element.id: element for element in machine.android.screen.elements()}
    assert [after[name].text for name in ("first_name", "last_name", "phone")] == ["Ada", "Byron", "555-1234"]
    assert [name for name, element in after.items() if element.focused] == ["phone"]
    assert (after["label"].text, after["label"].description) == ("Work", "Work Phone")
    assert machine.out("content query --uri content://contacts/phones/") == "No result found.\n"  # not saved yet
    press(machine, "SAVE")
    rows = machine.out("content query --uri content://contacts/phones/ --projection display_name:number:type")
    assert rows == "Row: 0 display_name=Ada Byron, number=555-1234, type=3\n"


@pytest.mark.parametrize("name", ["Ada", "Ada Byron", "Ada King Byron"])
def test_a_name_that_an_intent_brings_is_saved_whole(machine: Machine, name: str) -> None:
    machine.out(f"am start -a android.intent.action.INSERT -t vnd.android.cursor.dir/contact -e name '{name}'")
    press(machine, "SAVE")
    assert f"display_name={name}," in machine.out("content query --uri content://contacts/phones/")


def test_a_message_is_written_on_its_form_and_sent(machine: Machine) -> None:
    machine.out("am start -a android.intent.action.SENDTO -d sms:5551234 --es sms_body Hello")
    press(machine, "Hello")
    machine.out("input text %sthere")
    press(machine, "Send SMS")
    rows = machine.out("content query --uri content://sms/sent --projection address:body")
    assert rows == "Row: 0 address=5551234, body=Hello there\n"


def test_clipboard_calls_and_snapshots(machine: Machine) -> None:
    machine.out("am broadcast -a clipper.set -e text copied\\ text")
    assert 'result=-1, data="copied text"' in machine.out("am broadcast -a clipper.get")
    machine.out("am start -a android.intent.action.CALL -d tel:5551234")
    assert "mCallState=2" in machine.out("dumpsys telephony.registry")
    machine.android.save("in call")
    machine.out("input keyevent KEYCODE_ENDCALL; rm -rf /sdcard/*; date 010112002030")
    assert "mCallState=0" in machine.out("dumpsys telephony.registry")
    assert machine.android.load("in call")
    assert "mCallState=2" in machine.out("dumpsys telephony.registry")
    assert machine.out("cat /sdcard/t/a.txt") == "one\n"
    assert machine.out("date +%Y") == "2023\n"
    assert not machine.android.load("none")


def test_logcat(machine: Machine) -> None:
    machine.out("logcat -b all -c; log -p w -t mine 'a message'; log -t other hello")
    assert machine.out("logcat -d -v brief mine:V '*:S'") == "W/mine( 1000): a message\n"
    line = machine.out("logcat -d -v epoch -s mine:I")
    assert line.split() == [line.split()[0], "1000", "1000", "W", "mine:", "a", "message"]
    assert line.startswith("     1697384")
    assert machine.out("logcat -d -v raw *:W | wc -l") == "1\n"


def test_uiautomator_tells_the_tree_of_the_screen() -> None:
    machine, screen = pocket()
    machine.out("uiautomator dump /sdcard/ui.xml")
    text = machine.out("cat /sdcard/ui.xml")
    for node in screen.phone.ui():
        assert f'resource-id="{node.id}"' in text
        box = node.box
        assert f'bounds="[{int(box.x1)},{int(box.y1)}][{int(box.x2)},{int(box.y2)}]"' in text


def test_screencap_is_the_phone_s_own_picture() -> None:
    machine, screen = pocket()
    assert machine.shell.output("screencap -p")[1] == screen.phone.png()
    machine.out("screencap /sdcard/s.png")
    assert machine.android.files.read("/sdcard/s.png") == screen.phone.png()
    machine.android.faults.set("black_screen")
    assert machine.shell.output("screencap -p")[1] != screen.phone.png()


def test_pocket_tasks_by_broadcast() -> None:
    machine, screen = pocket()
    assert "error: no task" in machine.out("am broadcast -a org.sopbench.pocket.SCORE")
    assert "result=1" in machine.out("am broadcast -a org.sopbench.pocket.START --es template no.such --ei seed 1")
    assert "result=-1" in machine.out("am broadcast -a org.sopbench.pocket.START --es template notes.unpin --ei seed 3")
    assert 'data="0.0"' in machine.out("am broadcast -a org.sopbench.pocket.SCORE")
    machine.out("am broadcast -a org.sopbench.pocket.ANSWER --es text64 aMOkIQ==")
    assert screen.phone.answers == ["hä!"]
    machine.out("am broadcast -a org.sopbench.pocket.FINISH --es status success")
    assert screen.phone.finished == "success"


def test_androidworld_s_apps_are_there_with_their_tables() -> None:
    from emulator.sim.androidworld_apps import APPS

    machine = Machine(DeskScreen(APPS))
    listed = machine.out("pm list packages")
    for package in APPS:
        assert f"package:{package.name}\n" in listed
        if package.component:
            assert "Status: ok" in machine.out(f"am start -S -W -n {package.component}")
        for path, _ in package.databases:
            tables = machine.out(f"sqlite3 {package.home}/{path} .tables").split()
            assert tables, package.name
            for table in tables:
                assert machine.out(f'sqlite3 {package.home}/{path} "SELECT count(*) FROM {table}"').strip().isdigit()
    recipe = "INSERT INTO recipes (title, servings) VALUES ('Soup', '2');"
    database = "/data/data/com.flauschcode.broccoli/databases/broccoli"
    assert machine.out(f'sqlite3 {database} "{recipe} SELECT recipeId, title, favorite FROM recipes"') == "1|Soup|0\n"
    machine.out("pm clear com.flauschcode.broccoli")
    assert machine.out(f'sqlite3 {database} "SELECT count(*) FROM recipes"') == "0\n"
    machine.out(f"rm {database}; am start -n com.flauschcode.broccoli/.MainActivity")
    assert machine.out(f'sqlite3 {database} "SELECT count(*) FROM recipes"') == "0\n", (
        "a started app makes what it misses"
    )
