"""The side of AndroidWorld: a program for the Python of its own environment, which has android_world, android_env and no sopbench.

    python bridge.py      orders on stdin, answers on stdout, one JSON object a line; everything that libraries print goes to stderr

An order is {"id": n, "do": NAME, ...}, its answer {"id": n, "ok": {...}} or {"id": n, "error": KIND, "detail": "..."}. Orders: hello, tasks, attach, setup,
start, screen, act, answer, score, terminated, tear_down, ping, close. It ends when stdin does. Whoever gives the orders keeps the deadlines, and kills this process where one is missed.

What is replaced of the libraries, at commit d9c569f and android_env 1.2.3, and why:
- `get_controller`: the configuration names the adb server of this device, where upstream shares one among all (also when it reconnects);
- `AdbController._restart_server`: it would kill that server, whose owner watches the device;
- `download_app_data`, `_get_accessibility_forwarder_apk`: files come from a folder that is kept, with their hashes.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import queue
import random
import sys
import tempfile
import threading
import time
import types
from collections.abc import Iterator
from typing import IO, Any

Order = dict[str, Any]
Told = dict[str, Any]

LONGEST_LINE = 8 * 1024 * 1024
MOST_ELEMENTS = 2000
LONGEST_DETAIL = 2000
FORWARDER = "2024.05.13-accessibility_forwarder.apk"
FORWARDER_PACKAGE = "com.google.androidenv.accessibilityforwarder"
HASHES = "SHA256SUMS.json"
MINIWOB_PAUSE = 0.2
"""Seconds before a screen of MiniWoB is taken (run.py, _MINIWOB_TRANSITION_PAUSE)."""


class Refused(Exception):
    """An order that cannot be carried out, in words for its sender."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def instance_seed(seed: int, name: str, index: int) -> int:
    """As `create_suite` has it (suite_utils.py, _get_instance_seed)."""
    return int(hashlib.sha256(f"{seed}_{name}_{index}".encode()).hexdigest(), 16) % (2**32)


def instantiate(task_class: Any, seed: int) -> Any:
    """As `_instantiate_task` does it, without a device.

    MarkorCreateFolder alone makes a parameter of the wall clock (markor.py, line 164): it is given the time that all devices are set to, so
    that an instance is the same whenever it is played.
    """
    task_class.set_device_time(None)
    random.seed(seed)
    with _wall_clock_stands_still():
        params = task_class.generate_random_params()
    params["seed"] = seed
    return task_class(params)


@contextlib.contextmanager
def _wall_clock_stands_still() -> Iterator[None]:
    from android_world.env import device_constants  # type: ignore[import-not-found]
    from android_world.task_evals.single import markor  # type: ignore[import-not-found]

    real = markor.datetime

    class Frozen(real.datetime):  # type: ignore[name-defined,misc]  # Any to us
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return device_constants.DT.replace(tzinfo=tz)

    frozen = types.SimpleNamespace(**{**vars(real), "datetime": Frozen})
    markor.datetime = frozen
    try:
        yield
    finally:
        markor.datetime = real


def goal_of(task: Any) -> str:
    """A MiniWoB page tells its goal only once it is there: until then the template's words without it."""
    try:
        return str(task.goal)
    except ValueError:
        return str(task.template.format(utterance="")).rstrip(" :") + "."


class Bridge:
    def __init__(self) -> None:
        self.env: Any = None
        self.task: Any = None
        self.apks: str | None = None
        self.simulated = False

    # ---- without a device
    def hello(self, order: Order) -> Told:
        import importlib.metadata as metadata

        versions = {name: metadata.version(name) for name in ("android-env", "grpcio", "numpy", "protobuf")}
        return {"pid": os.getpid(), "python": sys.version.split()[0], "versions": versions}

    def ping(self, order: Order) -> Told:
        return {}

    def tasks(self, order: Order) -> Told:
        """The instances of a family in upstream's order: sorted by task, each with the seed of its parameters."""
        registry = self._registry(order["family"])
        seed, count = int(order["task_seed"]), int(order["instances"])
        found = []
        for name in sorted(registry):
            for index in range(count):
                own = instance_seed(seed, name, index)
                task = instantiate(registry[name], own)
                found.append(
                    {
                        "template": name,
                        "instance": index,
                        "seed": own,
                        "goal": goal_of(task),
                        "budget": int(10 * task.complexity),
                        "complexity": task.complexity,
                        "apps": [app for app in task.app_names if app],
                    }
                )
        return {"tasks": found}

    def _registry(self, family: str) -> Any:
        from android_world import registry  # type: ignore[import-not-found]

        try:
            return registry.TaskRegistry().get_registry(family)
        except ValueError as error:
            raise Refused("no_family", str(error)) from None

    # ---- the device
    def attach(self, order: Order) -> Told:
        """Connect to a device that runs, and bring it to where AndroidWorld begins: time frozen, accessibility forwarded."""
        self._detach()
        self.apks = order.get("apks")
        self.simulated = bool(order.get("simulated"))
        if order.get("longest_sleep") is not None:
            _shorten_sleep(float(order["longest_sleep"]))
        controller = self._replace_parts(order)
        from android_world.env import env_launcher, interface

        self.env = interface.AsyncAndroidEnv(controller())
        env_launcher.setup_env(self.env, emulator_setup=False, freeze_datetime=True)
        return {"screen": list(self.env.logical_screen_size)}

    def _replace_parts(self, order: Order) -> Any:
        from android_env import loader  # type: ignore[import-not-found]
        from android_env.components import adb_controller, config_classes  # type: ignore[import-not-found]
        from android_env.wrappers import a11y_grpc_wrapper  # type: ignore[import-not-found]
        from android_world.env import adb_utils, android_world_controller
        from android_world.env.setup_device import apps  # type: ignore[import-not-found]

        folder = tempfile.gettempdir()
        template = os.path.join(folder, "nothing.textproto")
        with open(template, "w", encoding="utf-8") as file:
            file.write('id: "sopbench"\nname: "sopbench"\nmax_episode_sec: 86400\n')

        def controller(*_ignored: Any, **_also: Any) -> Any:
            config = config_classes.AndroidEnvConfig(
                task=config_classes.FilesystemTaskConfig(path=template),
                simulator=config_classes.EmulatorConfig(
                    emulator_launcher=config_classes.EmulatorLauncherConfig(
                        emulator_console_port=int(order["console_port"]),
                        adb_port=int(order["console_port"]) + 1,
                        grpc_port=int(order["grpc_port"]),
                    ),
                    adb_controller=config_classes.AdbControllerConfig(
                        adb_path=order["adb"], adb_server_port=int(order["adb_server_port"])
                    ),
                ),
            )
            loaded = loader.load(config)
            there = FORWARDER_PACKAGE in adb_utils.get_all_package_names(loaded)
            return android_world_controller.AndroidWorldController(loaded, install_a11y_forwarding_app=not there)

        android_world_controller.get_controller = controller
        adb_controller.AdbController._restart_server = lambda self, timeout=None: time.sleep(0.2)
        a11y_grpc_wrapper._get_accessibility_forwarder_apk = self._forwarder
        apps.download_app_data = self._app_data
        return controller

    def _forwarder(self) -> bytes:
        with open(self._kept(FORWARDER, "https://storage.googleapis.com/android_env-tasks/" + FORWARDER), "rb") as file:
            return file.read()

    def _app_data(self, name: str) -> str:
        return self._kept(name, "https://storage.googleapis.com/gresearch/android_world/" + name)

    def _kept(self, name: str, url: str) -> str:
        """A file of the kept folder, downloaded from its publisher the first time; compared with the hash that it had then."""
        if not self.apks:
            raise Refused("no_apks", f"{name} is needed and no folder for such files was named")
        path = os.path.join(self.apks, name)
        hashes = _read_hashes(self.apks)
        if not os.path.isfile(path):
            import requests  # type: ignore[import-untyped]

            os.makedirs(self.apks, exist_ok=True)
            answer = requests.get(url, timeout=120)
            if answer.status_code != 200:
                raise Refused("no_apks", f"{url} answers {answer.status_code}: put the file into {self.apks} yourself")
            part = f"{path}.{os.getpid()}.part"
            with open(part, "wb") as file:
                file.write(answer.content)
            os.replace(part, path)
        with open(path, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if hashes.setdefault(name, found) != found:
            raise Refused(
                "no_apks", f"{path} is not the file that it was: its sha256 is {found}, recorded is {hashes[name]}"
            )
        _write_hashes(self.apks, name, found)
        return path

    def setup(self, order: Order) -> Told:
        """Install and set up the apps, as upstream's `--perform_emulator_setup` does. Once on a device; its snapshot is then kept."""
        if self.simulated:
            return {"apps": 0}  # the simulated phone brings them along
        from android_world.env.setup_device import setup

        setup.setup_apps(self._attached())
        return {"apps": len(setup._APPS)}

    # ---- an episode
    def start(self, order: Order) -> Told:
        env = self._attached()
        if self.task is not None:
            self.tear_down(order)
        family = order["family"]
        registry = self._registry(family)
        if order["template"] not in registry:
            raise Refused("no_task", f"family {family} has no task {order['template'][:80]!r}")
        task = instantiate(registry[order["template"]], int(order["seed"]))
        if order.get("goal") is not None and goal_of(task) != order["goal"]:
            raise Refused("other_goal", f"the goal of {order['template']} is {goal_of(task)[:300]!r} here")
        self.task = task
        task.initialize_task(env)
        env.reset(go_home=task.start_on_home_screen)
        env.hide_automation_ui()
        return {"goal": task.goal, "budget": int(10 * task.complexity)}

    def screen(self, order: Order) -> Told:
        """What an agent sees: android_env's pixels as PNG, after the pause that run.py has (MiniWoB: short; else until the elements stand still)."""
        import cv2  # type: ignore[import-not-found]

        env = self._attached()
        if order.get("settle", True) and self._miniwob:
            time.sleep(MINIWOB_PAUSE)
        state = env.get_state(wait_to_stabilize=bool(order.get("settle", True)) and not self._miniwob)
        pixels = state.pixels
        done, data = cv2.imencode(".png", pixels[:, :, ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 3])
        if not done:
            raise Refused("bad_reply", f"a screen of shape {pixels.shape} cannot be written as PNG")
        answer: Told = {"png": base64.b64encode(data.tobytes()).decode()}
        if order.get("elements"):
            answer["elements"] = [_element(e) for e in state.ui_elements[:MOST_ELEMENTS]]
        return answer

    @property
    def _miniwob(self) -> bool:
        return self.task is not None and self.task.name.lower().startswith("miniwob")

    def act(self, order: Order) -> Told:
        """`execute_action` of upstream. What it refuses (`ValueError`) is told and changes nothing, as in upstream's agents."""
        from android_world.env import json_action

        try:
            self._attached().execute_action(json_action.JSONAction(**order["action"]))
        except ValueError as error:
            return {"refused": str(error)[:LONGEST_DETAIL]}
        return {"refused": None}

    def answer(self, order: Order) -> Told:
        return self.act({"action": {"action_type": "answer", "text": order["text"]}})

    def score(self, order: Order) -> Told:
        """The task's own check, as a number between 0 and 1; asked again it looks again."""
        if self.task is None:
            raise Refused("no_task", "no task was started")
        return {"reward": float(self.task.is_successful(self._attached()))}

    def terminated(self, order: Order) -> Told:
        """Whether a MiniWoB page has ended its episode by itself, which upstream counts as the agent's being done."""
        if not self._miniwob:
            return {"terminated": False}
        from android_world.task_evals.miniwob import miniwob_base  # type: ignore[import-not-found]

        return {"terminated": bool(miniwob_base.is_episode_terminated(self._attached()))}

    def tear_down(self, order: Order) -> Told:
        task, self.task = self.task, None
        if task is not None:
            task.tear_down(self._attached())
        return {}

    def close(self, order: Order) -> Told:
        self._detach()
        return {}

    def _attached(self) -> Any:
        if self.env is None:
            raise Refused("not_attached", "attach to a device first")
        return self.env

    def _detach(self) -> None:
        env, self.env, self.task = self.env, None, None
        if env is not None:
            env.close()


ORDERS = (
    "hello", "ping", "tasks", "attach", "setup", "start", "screen", "act", "answer", "score", "terminated", "tear_down", "close",
)  # fmt: skip


def _element(element: Any) -> Told:
    box = element.bbox_pixels
    return {
        "text": element.text,
        "description": element.content_description,
        "class": element.class_name,
        "id": element.resource_name or element.resource_id,
        "package": element.package_name,
        "box": [box.x_min, box.y_min, box.x_max, box.y_max] if box is not None else None,
        "clickable": element.is_clickable,
        "editable": element.is_editable,
        "checked": element.is_checked,
    }


def _shorten_sleep(longest: float) -> None:
    """A simulated phone is ready at once: what waits for a real one to settle needs no more than this."""
    real: Any = getattr(time.sleep, "real", time.sleep)

    def sleep(seconds: float) -> None:
        real(min(seconds, longest))

    sleep.real = real  # type: ignore[attr-defined]  # found by the next call, which must not shorten what is short
    time.sleep = sleep  # type: ignore[assignment]


def _read_hashes(folder: str) -> dict[str, str]:
    try:
        with open(os.path.join(folder, HASHES), encoding="utf-8") as file:
            kept = json.load(file)
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _write_hashes(folder: str, name: str, digest: str) -> None:
    hashes = _read_hashes(folder)
    if hashes.get(name) == digest:
        return
    part = os.path.join(folder, f".{HASHES}.{os.getpid()}")
    with open(part, "w", encoding="utf-8") as file:
        json.dump(hashes | {name: digest}, file, indent=1, sort_keys=True)
    os.replace(part, os.path.join(folder, HASHES))


def _kind(error: Exception) -> str:
    """A stable word for what went wrong."""
    if isinstance(error, Refused):
        return error.kind
    name = type(error).__name__
    if name in ("AdbControllerError", "SimulatorError", "EmulatorCrashError", "FailedPreconditionError"):
        return "device"
    return "environment_error"


def serve(lines: queue.Queue[bytes | None], out: IO[bytes]) -> None:
    bridge = Bridge()

    def tell(message: Told) -> None:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()

    while True:
        line = lines.get()
        if line is None:
            bridge.close({})
            return
        number = None
        try:
            order = json.loads(line)
            number = order["id"]
            name = order["do"]
            if name not in ORDERS:
                raise Refused("no_order", f"no order {str(name)[:60]!r}; there are {', '.join(ORDERS)}")
            tell({"id": number, "ok": getattr(bridge, name)(order)})
        except Exception as error:  # noqa: BLE001 - the boundary: whatever breaks in there is an answer, not the end of the bridge
            import traceback

            traceback.print_exc()  # to stderr, which is kept
            detail = f"{type(error).__name__}: {error}"[:LONGEST_DETAIL]
            tell({"id": number, "error": _kind(error), "detail": detail})


def main() -> None:
    out = os.fdopen(os.dup(1), "wb")
    orders = os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    lines: queue.Queue[bytes | None] = queue.Queue()

    def read() -> None:
        while True:
            line = orders.readline(LONGEST_LINE)
            if not line:
                lines.put(None)
                ended = threading.Timer(10.0, os._exit, (1,))  # an order that hangs does not outlive who gave it
                ended.daemon = True
                ended.start()
                return
            lines.put(line)

    threading.Thread(target=read, daemon=True).start()
    with contextlib.suppress(ImportError):  # then `hello` says what is missing
        from absl import logging  # type: ignore[import-not-found]

        logging.set_verbosity(logging.WARNING)
    serve(lines, out)
    os._exit(0)  # grpc's threads would keep it


if __name__ == "__main__":
    main()
