"""The public data sets: who publishes them, under which licence, how large they are, and what sopbench makes of them.

Addresses are the publishers' own. Sizes and hashes are stated where the publisher's files were seen (`sha256`) or others have published them; everything else is compared
with what the publisher's server says of its file while it is downloaded (`fetching`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from sopbench.errors import UsageError

_BUCKET: Final = "https://storage.googleapis.com"
_HUB: Final = "https://huggingface.co"
_FORGE: Final = "https://github.com"
_UIS1: Final = "11cea575561fb7800b5fb6b6cafa56f7a91de11f"
_DIGIRL: Final = "c74ec34029eb5092bf17a64211f2d0284c7d1ba8"


@dataclass(frozen=True, slots=True)
class Remote:
    """One file: `path` below the data set's folder, and where it is. `size` in bytes. `blob` is a git object id, `md5` and `sha256` hex digits; None where not known."""

    path: str
    url: str
    size: int | None = None
    sha256: str | None = None
    md5: str | None = None
    blob: str | None = None


@dataclass(frozen=True, slots=True)
class Bucket:
    """A folder of a public Google Cloud Storage bucket, whose files are listed when they are asked for."""

    bucket: str
    prefix: str

    @property
    def listing(self) -> str:
        return f"{_BUCKET}/storage/v1/b/{self.bucket}/o?prefix={quote(self.prefix, safe='')}"

    def address(self, name: str) -> str:
        return f"{_BUCKET}/{self.bucket}/{quote(name)}"


@dataclass(frozen=True, slots=True)
class Hub:
    """A data set repository of the Hugging Face hub at one revision, listed when it is asked for. `only` are patterns of the paths that are wanted."""

    repository: str
    revision: str
    only: tuple[str, ...] = ("*",)

    @property
    def listing(self) -> str:
        return f"{_HUB}/api/datasets/{self.repository}/tree/{self.revision}?recursive=true"

    def address(self, path: str) -> str:
        return f"{_HUB}/datasets/{self.repository}/resolve/{self.revision}/{quote(path)}"


@dataclass(frozen=True, slots=True)
class DataSet:
    """What `sopbench data list` says. `size` is of all files, in bytes (None where the publisher does not say); `after` is what is left to do by hand after a pull."""

    name: str
    title: str
    page: str
    licence: str
    size: int | None
    becomes: str
    convert: str
    files: tuple[Remote, ...] = ()
    listed: tuple[Bucket | Hub, ...] = ()
    after: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


def _androidcontrol() -> tuple[Remote, ...]:
    base = f"{_BUCKET}/gresearch/android_control"
    known = {0: (2_492_987_829, "42e84ff97e5a88ffa20f96a694d33ab4")}
    shards = []
    for index in range(20):
        name = f"android_control-{index:05}-of-00020"
        size, md5 = known.get(index, (None, None))
        shards.append(Remote(name, f"{base}/{name}", size, md5=md5))
    return (*(Remote(name, f"{base}/{name}") for name in ("splits.json", "test_subsplits.json")), *shards)


def _tasks() -> tuple[Remote, ...]:
    base = f"{_FORGE}/DigiRL-agent/digirl/raw/{_DIGIRL}/digirl/environment/android/assets/task_set"
    lists = (
        ("general_test.txt", 15_473, "0d9af7288d43ba472be5a9d2d1779e02050bce254f80e6877c2db76b1a36dd45"),
        ("general_train.txt", 19_646, "040a398a75a0c788fa748855c8bea36cbf3455bbcf7fab8132a6864d3fd5bd63"),
        ("webshop_test.txt", 16_174, "ce0c30a238b287a76f6139d30365373fc47ebe8c2ea43bed4ccf173c0ac02e5c"),
        ("webshop_train.txt", 19_683, "03340f0c9d6635578ad677eb1a618519baa41e0138026c85dfb78a2ae2e00df1"),
    )
    return tuple(Remote(name, f"{base}/{name}", size, sha256) for name, size, sha256 in lists)


DATA_SETS: Final[Mapping[str, DataSet]] = {
    item.name: item
    for item in (
        DataSet(
            "androidcontrol-sop",
            "the SOP evaluation file of UI-S1 (1,543 AndroidControl test episodes, no screens)",
            f"{_FORGE}/X-PLUG/MobileAgent/tree/{_UIS1}/UI-S1/datasets",
            "MIT",
            2_655_635,
            "a trajectory file as it is: suites `sop`, `androidcontrol-high`, `androidcontrol-low`",
            "no conversion; its screens come from androidcontrol with --only-sop",
            files=(
                Remote(
                    "android_control_evaluation_std.jsonl",
                    f"{_FORGE}/X-PLUG/MobileAgent/raw/{_UIS1}/UI-S1/datasets/android_control_evaluation_std.jsonl",
                    2_655_635,
                    "8525f839390537260eac082ad8d562e0992e5e4774582f9def8b43af9d431c3f",
                ),
            ),
        ),
        DataSet(
            "androidcontrol",
            "AndroidControl: 15,283 recorded episodes with screens and accessibility trees",
            f"{_FORGE}/google-research/google-research/tree/master/android_control",
            "see the publisher's page (repository: Apache-2.0)",
            49_930_232_975,
            "trajectories and screens of any split, or exactly the screens of the SOP file",
            "sopbench data convert androidcontrol",
            files=_androidcontrol(),
            facts={"episodes": "15,283", "test": "1,543 episodes, 8,444 steps"},
        ),
        DataSet(
            "gui-odyssey",
            "GUIOdyssey, second release: 8,334 cross-app episodes with boxes of clicked elements",
            f"{_HUB}/datasets/hflqf88888/GUIOdyssey",
            "CC BY 4.0",
            92_800_000_000,
            "trajectories and screens for suite `gui-odyssey`",
            "sopbench data convert gui-odyssey",
            listed=(
                Hub(
                    "hflqf88888/GUIOdyssey",
                    "61632d0f3f4d51d7e9561ce4f84347dd06b2019d",
                    ("annotations/*", "splits/*", "screenshots/*"),
                ),
            ),
            after="the screens come as an archive in nine parts; join and unpack it in the folder above (another 186 GB meanwhile, 93 GB in the end):\n"
            "  zip -s 0 screenshots/screenshots.zip --out screenshots/joined.zip\n"
            "  unzip -j screenshots/joined.zip -d screenshots",
        ),
        DataSet(
            "screenspot-v2",
            "ScreenSpot-v2: grounding on phones, desktops and the web",
            f"{_HUB}/datasets/OS-Copilot/ScreenSpot-v2",
            "Apache-2.0",
            1_330_000_000,
            "one-step trajectories for suite `screenspot-v2`",
            "sopbench data convert screenspot",
            listed=(Hub("OS-Copilot/ScreenSpot-v2", "5efbb1f1b5463a575f2eb7bc30fe29e49c15f93c", ("*.json", "*.zip")),),
        ),
        DataSet(
            "screenspot-pro",
            "ScreenSpot-Pro: grounding on large screens of professional software",
            f"{_HUB}/datasets/likaixin/ScreenSpot-Pro",
            "see the publisher's page",
            3_400_000_000,
            "one-step trajectories for suite `screenspot-pro`",
            "sopbench data convert screenspot",
            listed=(Hub("likaixin/ScreenSpot-Pro", "main", ("annotations/*.json", "images/*.png", "images/*.jpg")),),
        ),
        DataSet(
            "aitw",
            "Android in the Wild, subsets general and web_shopping: recorded episodes",
            f"{_FORGE}/google-research/google-research/tree/master/android_in_the_wild",
            "see the publisher's page (repository: Apache-2.0)",
            None,
            "trajectories and screens for suite `sop`",
            "sopbench data convert aitw",
            listed=(
                Bucket("gresearch", "android-in-the-wild/general/"),
                Bucket("gresearch", "android-in-the-wild/web_shopping/"),
                Bucket("gresearch", "android-in-the-wild/splits/"),
            ),
        ),
        DataSet(
            "aitw-tasks",
            "Instructions of Android in the Wild that DigiRL plays online (general and webshop, test and train)",
            f"{_FORGE}/DigiRL-agent/digirl",
            "Apache-2.0",
            70_976,
            "a list of tasks for online play",
            "sopbench data convert aitw",
            files=_tasks(),
        ),
    )
}


def get_data_set(name: str) -> DataSet:
    if name not in DATA_SETS:
        raise UsageError(f"no data set {name[:60]!r}; there are: {', '.join(DATA_SETS)}")
    return DATA_SETS[name]
