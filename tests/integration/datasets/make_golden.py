"""Write `golden_ac/` and `golden_aitw/` with TensorFlow's own TFRecord writer and android_env's own messages. Run by hand, in an environment of its own:

    pip install tensorflow-cpu protobuf && pip install --no-deps android-env==1.3.0
    PYTHONPATH=. python tests/integration/datasets/make_golden.py

What it wrote is committed, so that the readers are tested against the publishers' writers where neither package is installed.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.integration.datasets.archives import NodeSpec, all_gestures, every_action, shard_name

ANDROIDCONTROL = Path(__file__).parent / "golden_ac"
AITW = Path(__file__).parent / "golden_aitw"


def main() -> None:
    import tensorflow as tf
    from android_env.proto.a11y import android_accessibility_forest_pb2

    def tree(nodes: list[NodeSpec]) -> bytes:
        forest = android_accessibility_forest_pb2.AndroidAccessibilityForest()
        window = forest.windows.add()
        window.title = "an app"
        window.bounds_in_screen.right = 60
        for k, spec in enumerate(nodes):
            node = window.tree.nodes.add()
            node.unique_id = k
            box = node.bounds_in_screen
            box.left, box.top, box.right, box.bottom = spec.bounds
            node.is_clickable, node.is_visible_to_user = spec.clickable, spec.visible
            node.is_long_clickable = spec.long_clickable
            node.text, node.content_description = spec.text, spec.description
            node.package_name, node.class_name = "com.example", "android.widget.Button"
            node.text_selection_start = -1
            node.child_ids.extend([k + 1, k + 2])
            node.actions.add().id = 16
        status = forest.windows.add()
        status.layer = 5
        status.tree.nodes.add().is_visible_to_user = True
        return forest.SerializeToString()

    def of_bytes(values: list[bytes]) -> tf.train.Feature:
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    def of_ints(values: list[int]) -> tf.train.Feature:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    def of_floats(values: list[float]) -> tf.train.Feature:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    def write(folder: Path, name: str, examples: list[dict[str, tf.train.Feature]]) -> None:
        options = tf.io.TFRecordOptions(compression_type="GZIP")
        with tf.io.TFRecordWriter(str(folder / name), options) as writer:
            for features in examples:
                writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())

    for folder in (ANDROIDCONTROL, AITW):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    spec = every_action()
    features = {}
    for name, values in spec.features().items():
        features[name] = of_ints(list(values)) if isinstance(values[0], int) else of_bytes(list(values))
    features["accessibility_trees"] = of_bytes([tree(list(step.nodes)) for step in spec.steps] + [tree([])])
    write(ANDROIDCONTROL, shard_name(0, 1), [features])

    width, height = 12, 24
    steps = all_gestures()
    examples = []
    for k, step in enumerate(steps):
        raw = bytes((k * 40, 20, 40)) * (width * height)
        examples.append(
            {
                "android_api_level": of_ints([12]),
                "device_type": of_bytes([b"pixel_4"]),
                "episode_id": of_bytes([b"16150593985172894737"]),
                "episode_length": of_ints([len(steps)]),
                "goal_info": of_bytes(["What’s the news in Chile?".encode()]),
                "image/channels": of_ints([3]),
                "image/height": of_ints([height]),
                "image/width": of_ints([width]),
                "image/encoded": of_bytes([raw]),
                "image/ui_annotations_positions": of_floats([v for box in step.boxes for v in box]),
                "image/ui_annotations_text": of_bytes([b"ok"] * len(step.boxes)),
                "results/action_type": of_ints([step.kind]),
                "results/type_action": of_bytes([step.text.encode()]),
                "results/yx_touch": of_floats(list(step.touch)),
                "results/yx_lift": of_floats(list(step.lift)),
                "step_id": of_ints([k]),
            }
        )
    write(AITW, shard_name(0, 1, "general"), examples)
    (ANDROIDCONTROL / "splits.json").write_text(json.dumps({"train": [], "test": [spec.id], "validation": []}))


if __name__ == "__main__":
    main()
