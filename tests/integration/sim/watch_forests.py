"""Runs in `.venv-android`: the phone's gRPC seen with android-env's genuine messages. Prints one line of JSON.

.venv-android/bin/python watch_forests.py CONSOLE_PORT GRPC_PORT ADB_SERVER_PORT
"""

import json
import subprocess
import sys
import time
from concurrent import futures

import grpc
from android_env.proto import emulator_controller_pb2 as controller
from android_env.proto import emulator_controller_pb2_grpc as controller_grpc
from android_env.proto.a11y import a11y_pb2, a11y_pb2_grpc
from google.protobuf import empty_pb2

from emulator.sim.child import ask_console

CONSOLE, GRPC, SERVER = map(int, sys.argv[1:4])


class Receiver(a11y_pb2_grpc.A11yServiceServicer):
    def __init__(self):
        self.forests = []

    def SendForest(self, request, context):
        self.forests.append(request)
        return a11y_pb2.ForestResponse()


def adb(*words):
    return subprocess.run(
        ["adb", "-P", str(SERVER), "-s", f"emulator-{CONSOLE}", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    ).stdout


def tell(line):
    ask_console(CONSOLE, line, 5)


def count(receiver, seconds=1.5):
    time.sleep(0.6)  # one that was on its way may still arrive
    receiver.forests.clear()
    time.sleep(seconds)
    return len(receiver.forests)


def code(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code().name
    return "OK"


def main():
    channel = grpc.secure_channel(f"localhost:{GRPC}", grpc.local_channel_credentials())
    phone = controller_grpc.EmulatorControllerStub(channel)
    seen = {"booted": phone.getStatus(empty_pb2.Empty()).booted}
    receiver = Receiver()
    server = grpc.server(futures.ThreadPoolExecutor(4))
    a11y_pb2_grpc.add_A11yServiceServicer_to_server(receiver, server)
    port = server.add_secure_port("localhost:0", grpc.local_server_credentials())
    server.start()
    adb("shell", f"am broadcast -a accessibility_forwarder.intent.action.SET_GRPC --ei port {port} --es host 10.0.2.2")
    deadline = time.monotonic() + 20
    while not receiver.forests and time.monotonic() < deadline:
        time.sleep(0.1)
    seen["forests_before"] = bool(receiver.forests)
    nodes = receiver.forests[-1].windows[0].tree.nodes
    boxes = [node.bounds_in_screen for node in nodes]
    seen["bounds_inside"] = all(0 <= box.left < box.right <= 540 and 0 <= box.top < box.bottom <= 1200 for box in boxes)
    tell("fault set no_forest")
    under = {"no_forest": count(receiver)}
    tell("fault clear")
    adb("shell", "settings put global airplane_mode_on 1")
    under["airplane"] = count(receiver)
    adb("shell", "settings put global airplane_mode_on 0")
    seen["forests_under"] = under
    deadline = time.monotonic() + 20
    while not receiver.forests and time.monotonic() < deadline:
        time.sleep(0.1)
    seen["forests_after"] = bool(receiver.forests)
    png = controller.ImageFormat(format=controller.ImageFormat.ImgFormat.PNG)
    seen["png_is_screencap"] = phone.getScreenshot(png).image == adb("exec-out", "screencap", "-p")
    tell("fault set hang")
    seen["hang"] = code(lambda: phone.getStatus(empty_pb2.Empty(), timeout=1))
    tell("fault clear")
    tell("fault set black_screen")
    raw = controller.ImageFormat(format=controller.ImageFormat.ImgFormat.RGB888)
    seen["black"] = not any(phone.getScreenshot(raw).image)
    tell("fault clear")
    seen["unknown_method"] = code(lambda: phone.getBattery(empty_pb2.Empty()))
    raw_call = channel.unary_unary("/android.emulation.control.EmulatorController/sendTouch")
    seen["hostile_request"] = code(lambda: raw_call(b"\xff" * 40, timeout=5))
    server.stop(None)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
