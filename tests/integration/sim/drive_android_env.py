"""Runs in `.venv-android`: android-env, unmodified, on a simulated phone that is already there. Prints what it saw as one line of JSON.

.venv-android/bin/python drive_android_env.py CONSOLE_PORT GRPC_PORT ADB_SERVER_PORT ADB SCREEN.png
"""

import json
import sys
import tempfile
import time

import numpy as np
from absl import logging
from android_env import loader
from android_env.components import action_type, config_classes
from android_env.proto import adb_pb2, state_pb2
from android_env.wrappers import a11y_grpc_wrapper
from PIL import Image

TASK = """id: "sim"
name: "sim"
max_episode_sec: 600
log_parsing_config {
  filters: "sopbench:I"
  log_regexps { reward_event { event: "^reward now$" reward: 7.0 } }
}
"""


def main() -> None:
    logging.set_verbosity(logging.FATAL)
    console, grpc, server = map(int, sys.argv[1:4])
    with tempfile.NamedTemporaryFile("w", suffix=".textproto") as file:
        file.write(TASK)
        file.flush()
        env = loader.load(
            config_classes.AndroidEnvConfig(
                task=config_classes.FilesystemTaskConfig(path=file.name),
                simulator=config_classes.EmulatorConfig(
                    emulator_launcher=config_classes.EmulatorLauncherConfig(
                        emulator_console_port=console, adb_port=console + 1, grpc_port=grpc
                    ),
                    adb_controller=config_classes.AdbControllerConfig(adb_path=sys.argv[4], adb_server_port=server),
                ),
            )
        )
    env = a11y_grpc_wrapper.A11yGrpcWrapper(
        env,
        install_a11y_forwarding=False,
        start_a11y_service=True,
        enable_a11y_tree_info=True,
        latest_a11y_info_only=True,
    )
    first = env.reset()

    def call(request):
        return env.execute_adb_call(request)

    def generic(*words):
        return call(
            adb_pb2.AdbRequest(generic=adb_pb2.AdbRequest.GenericRequest(args=list(words)))
        ).generic.output.decode()

    def step(kind, x=0.0, y=0.0):
        position = np.array([x, y], dtype=np.float32)
        return env.step({"action_type": np.array(kind, dtype=np.int32), "touch_position": position})

    def touch(x, y):
        step(action_type.ActionType.TOUCH, x, y)
        return step(action_type.ActionType.LIFT, x, y)

    seen = {"shape": list(first.observation["pixels"].shape), "orientation": first.observation["orientation"].tolist()}
    expected = np.asarray(Image.open(sys.argv[5]).convert("RGB"))
    before = first.observation["pixels"]
    seen["same_picture"] = bool((expected == before).all())
    simulator = env._env  # the wrapper itself has no save_state
    saved = simulator.save_state(state_pb2.SaveStateRequest(args={"snapshot_name": "before"}))
    seen["saved"] = state_pb2.SaveStateResponse.Status.Name(saved.status)
    generic("shell", "input", "keyevent", "KEYCODE_HOME")
    generic("shell", "am", "start", "-n", "org.sopbench.pocket.notes/.Main")
    activity = call(adb_pb2.AdbRequest(get_current_activity=adb_pb2.AdbRequest.GetCurrentActivity()))
    seen["activity"] = activity.get_current_activity.full_activity
    forest, deadline = None, time.monotonic() + 20
    while forest is None and time.monotonic() < deadline:
        time.sleep(0.3)
        found = env.accumulate_new_extras().get("accessibility_tree", [])
        texts = [node.text for tree in found[-1:] for window in tree.windows for node in window.tree.nodes]
        forest = texts if "Notes" in texts else None
    seen["forest"] = forest or []
    box = None
    for window in found[-1].windows:
        for node in window.tree.nodes:
            if node.view_id_resource_name.endswith(":id/new") and node.is_clickable:
                box = node.bounds_in_screen
    height, width = seen["shape"][:2]
    seen["button"] = box is not None
    if box is not None:
        touch((box.left + box.right) / 2 / width, (box.top + box.bottom) / 2 / height)
    activity = call(adb_pb2.AdbRequest(get_current_activity=adb_pb2.AdbRequest.GetCurrentActivity()))
    seen["after_touch"] = activity.get_current_activity.full_activity
    generic("shell", "log", "-p", "i", "-t", "sopbench", "reward now")
    reward, deadline = 0.0, time.monotonic() + 10
    while not reward and time.monotonic() < deadline:
        reward = step(action_type.ActionType.REPEAT).reward or 0.0
        time.sleep(0.1)
    seen["reward_from_logcat"] = float(reward)
    pushed = call(adb_pb2.AdbRequest(push=adb_pb2.AdbRequest.Push(content=b"abc", path="/sdcard/Download/a.txt")))
    pulled = call(adb_pb2.AdbRequest(pull=adb_pb2.AdbRequest.Pull(path="/sdcard/Download/a.txt")))
    seen["pulled"] = [adb_pb2.AdbResponse.Status.Name(pushed.status), pulled.pull.content.decode()]
    installed = call(
        adb_pb2.AdbRequest(
            install_apk=adb_pb2.AdbRequest.InstallApk(blob=adb_pb2.AdbRequest.InstallApk.Blob(contents=b"PK"))
        )
    )
    seen["install"] = adb_pb2.AdbResponse.Status.Name(installed.status)
    loaded = simulator.load_state(state_pb2.LoadStateRequest(args={"snapshot_name": "before"}))
    seen["loaded"] = state_pb2.LoadStateResponse.Status.Name(loaded.status)
    missing = simulator.load_state(state_pb2.LoadStateRequest(args={"snapshot_name": "none"}))
    seen["missing"] = state_pb2.LoadStateResponse.Status.Name(missing.status)
    after = step(action_type.ActionType.REPEAT).observation["pixels"]
    seen["back_as_before"] = bool((after == before).all())
    env.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
