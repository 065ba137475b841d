"""For the Python of AndroidWorld's environment: sopbench's bridge with two orders more, `params` and `draw`, for agents that are scripts.

python inside.py BRIDGE_PY CHECKOUT        orders and answers as in the bridge
"""

import dataclasses
import importlib.util
import sys


def load(path):
    found = importlib.util.spec_from_file_location("bridge", path)
    bridge = importlib.util.module_from_spec(found)
    found.loader.exec_module(bridge)
    return bridge


def plain(value):
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool | None) else f"<{type(value).__name__}>"


def keeping(instantiate, kept):
    """Initialising rewords dates of the parameters: scripts get them as they were drawn. Rows of databases are objects."""

    def instantiate_and_keep(task_class, seed):
        task = instantiate(task_class, seed)
        kept.clear()
        kept.update(plain(task.params))
        return task

    return instantiate_and_keep


def draw(bridge):
    """The parameters that upstream draws for a task at some seeds; no device takes part."""

    def drawn(self, order):
        task_class = self._registry("android_world")[order["template"]]
        return {"params": [plain(bridge.instantiate(task_class, seed).params) for seed in order["seeds"]]}

    return drawn


def main():
    sys.path.insert(0, sys.argv[2])
    bridge = load(sys.argv[1])
    kept = {}
    bridge.instantiate = keeping(bridge.instantiate, kept)
    bridge.Bridge.params = lambda self, order: {"params": kept}
    bridge.Bridge.draw = draw(bridge)
    bridge.ORDERS += ("params", "draw")
    bridge.main()


if __name__ == "__main__":
    main()
