"""Which official texts there are: for each family its sources in order of preference, each pinned to what was looked at.

A pulled file is pinned by commit, size and sha256, and what is made of it by a sha256 too: whoever runs with `pulled` has the same words. A package is pinned by
name only, since its publisher may correct it; the run record has the hash of what it said.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from sopbench.prompts import recipes

Files: TypeAlias = Mapping[str, bytes]
"""Contents of a source's files by their path."""


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """One file of a publisher's repository. `repository` is its public web address, `size` is in bytes."""

    repository: str
    commit: str
    path: str
    sha256: str
    size: int

    @property
    def shown(self) -> str:
        return f"{self.owner_and_name} {self.commit[:8]} {self.path}"

    @property
    def owner_and_name(self) -> str:
        return "/".join(self.repository.rsplit("/", 2)[-2:])


@dataclass(frozen=True, slots=True)
class PackageFile:
    """One file of an installed distribution, by the path that its RECORD has."""

    distribution: str
    path: str


@dataclass(frozen=True)
class Official:
    """One source of a family's official texts. `recipe` turns the files into templates; `whose` says in a few words what they are.

    `texts_sha256` (pulled sources) is over the templates that the recipe must give.
    """

    family: str
    kind: Literal["package", "pulled"]
    whose: str
    recipe: Callable[[Files], dict[str, str]]
    files: tuple[PinnedFile, ...] = ()
    package: PackageFile | None = None
    texts_sha256: str = ""

    @cached_property
    def key(self) -> str:
        """Changes with every pin, so that a cache never answers for another version of this module."""
        pins = [self.family, self.texts_sha256, *(f"{f.repository} {f.commit} {f.path} {f.sha256}" for f in self.files)]
        return hashlib.sha256("\n".join(pins).encode()).hexdigest()[:16]


_FORGE: Final = "https://github.com"
_UIS1: Final = (f"{_FORGE}/X-PLUG/MobileAgent", "11cea575561fb7800b5fb6b6cafa56f7a91de11f")
_AGENTCPM: Final = (f"{_FORGE}/OpenBMB/AgentCPM-GUI", "acbaf509b8afb3f58b782486f4e8c0e33d8a486b")
_OS_ATLAS: Final = (f"{_FORGE}/OS-Copilot/OS-Atlas", "bad08407ab54b5bf6c17a69fe1ced476b9494926")
_OS_GENESIS: Final = (f"{_FORGE}/OS-Copilot/OS-Genesis", "e9178a878de6da71a69c3f77f7e371d07324b850")
_UI_TARS: Final = (f"{_FORGE}/bytedance/UI-TARS", "582f3a7ea5d285ee8ed9e2e84048d1ab01453c49")
_QWEN25: Final = (f"{_FORGE}/QwenLM/Qwen3-VL", "f61c3cdcffac3aa3dba0bde01c9763b87db0dccb")
_QWEN3: Final = (f"{_FORGE}/QwenLM/Qwen3-VL", "96588727e44c78b25ba03ea03b8e12f7e64fd0da")
_QWEN_AGENT: Final = (f"{_FORGE}/QwenLM/Qwen-Agent", "31a4d36d123688581a9e9744427272b33ce940e0")
_QWEN_PACKAGE: Final = PackageFile("qwen-agent", "qwen_agent/llm/fncall_prompts/nous_fncall_prompt.py")

_GENESIS_FILES: Final = (
    PinnedFile(
        *_OS_GENESIS,
        "evaluation/android_world/genesis_agents.py",
        "ca5b128a9464f700b3f234c90007fcc7008fb156941a8d7de4c826b661499099",
        24_296,
    ),
)
_GENESIS_SHA256: Final = "2e5bb2089b3b9400218593bf6e842b36e93a2069e0bae7cfaec8ff8aa2080039"

_ALL: Final = (
    Official(
        "uis1",
        "pulled",
        "the messages of UI-S1's released evaluator",
        recipes.uis1,
        (
            PinnedFile(
                *_UIS1,
                "UI-S1/x/data/agent/json.py",
                "21e304bfcf0c67f087fc8e8f9faba0fde8cec5bef5411ddbc3ea18e5ab7456ae",
                11_479,
            ),
            PinnedFile(
                *_UIS1,
                "UI-S1/x/data/agent/base.py",
                "bc184d00dec0db91c1a87d05ab3bc6ef2270afab6346e496bc0412bf14d08988",
                4_003,
            ),
            PinnedFile(
                *_UIS1,
                "UI-S1/x/data/agent/space/std_space.py",
                "86706f3d52cf5b4628d8746f93323e6654da06ea67dbf47dc6950b25be291072",
                3_496,
            ),
        ),
        texts_sha256="c4735d0699dca8cca79c243e7eecc1fd2e35c9748c3f4eeb34f498aad0d71d5a",
    ),
    Official(
        "agentcpm",
        "pulled",
        "the system prompt, schema and question of AgentCPM-GUI's vLLM example",
        recipes.agentcpm,
        (
            PinnedFile(
                *_AGENTCPM,
                "README.md",
                "97f4fc8a6535e7d6b55e8f17b312e2aa7189b37a3ea255063c17c86c922ca349",
                16_003,
            ),
            PinnedFile(
                *_AGENTCPM,
                "eval/utils/schema/schema.json",
                "074430fb2168b15fde2a516a6308268b1f89dcc878c2d3df1cc7bc34ccd1b9e7",
                2_100,
            ),
        ),
        texts_sha256="80723b51e745b95a64bbb1035e52856b89c434908e0fd9bfbb3db4e600d99974",
    ),
    Official(
        "os_atlas",
        "pulled",
        "the AndroidControl prompt of OS-Atlas, without its step instruction",
        recipes.os_atlas,
        (
            PinnedFile(
                *_OS_ATLAS,
                "eval/data/ac_test.jsonl",
                "d7119a546c63af286276b718f93785f9753fedddabc7dda18b312619b0a7c259",
                11_781,
            ),
        ),
        texts_sha256="9c17dd4e92a47ecd6ebc46b875f27baf91c8f314f3a24071e0d44e1330552579",
    ),
    Official(
        "os_genesis",
        "pulled",
        "the AndroidWorld prompt of OS-Genesis, with an empty accessibility tree",
        recipes.os_genesis,
        _GENESIS_FILES,
        texts_sha256=_GENESIS_SHA256,
    ),
    Official(
        "os_genesis_pixels",
        "pulled",
        "the AndroidWorld prompt of OS-Genesis, with an empty accessibility tree",
        recipes.os_genesis,
        _GENESIS_FILES,
        texts_sha256=_GENESIS_SHA256,
    ),
    Official(
        "ui_tars",
        "pulled",
        "the mobile prompt of UI-TARS v1's README",
        recipes.ui_tars,
        (
            PinnedFile(
                *_UI_TARS,
                "README_v1.md",
                "02546a4a6c82f33043a3ae9b971c06192da69611d5402f3c03449a44dc8c3592",
                29_250,
            ),
        ),
        texts_sha256="20f887061e5055b592d82296570ee724ab31b556aab3a6c60e336915f7a6748c",
    ),
    Official(
        "ui_tars15",
        "package",
        "the mobile prompt in package ui-tars",
        recipes.ui_tars15,
        package=PackageFile("ui-tars", "ui_tars/prompt.py"),
    ),
    Official(
        "ui_tars15",
        "pulled",
        "the mobile prompt of UI-TARS v1.5",
        recipes.ui_tars15,
        (
            PinnedFile(
                *_UI_TARS,
                "codes/ui_tars/prompt.py",
                "92aecb9ad43b308e4a909fe70ec8ac8ce4147cf9f0c302174582f4c7e0fbb496",
                2_672,
            ),
        ),
        texts_sha256="37224388b81a2084bfefa4ee8c619e92d71a76fed926c3dd2e7cee61c70d2b3d",
    ),
    Official(
        "qwen25vl",
        "pulled",
        "the mobile cookbook of Qwen2.5-VL, in Qwen-Agent's function-call prompt",
        recipes.qwen25vl,
        (
            PinnedFile(
                *_QWEN25,
                "cookbooks/mobile_agent.ipynb",
                "b3a6efe122723b412a38013d891306cb36aabfaaea76cb6f37b4891212d51238",
                2_802_874,
            ),
            PinnedFile(
                *_QWEN25,
                "cookbooks/utils/agent_function_call.py",
                "463466aa84414c872fd0119e7850e8e93b77300ed96cb38dab440eb3c3c87d16",
                11_389,
            ),
            PinnedFile(
                *_QWEN_AGENT,
                "qwen_agent/llm/fncall_prompts/nous_fncall_prompt.py",
                "98f8b9a7d4b5141b7c9df475b9026e23fcf245b3789ab3a711599af38ab1efba",
                14_248,
            ),
        ),
        texts_sha256="ca0397d08d50ea65c2e61cb4a40067098069d9ce28bd8aad6023042187be335f",
    ),
    Official(
        "qwen25vl",
        "package",
        "the function-call prompt in package qwen-agent, around our description of the tool",
        recipes.qwen25vl_frame,
        package=_QWEN_PACKAGE,
    ),
    Official(
        "qwen3vl",
        "pulled",
        "the mobile cookbook of Qwen3-VL",
        recipes.qwen3vl,
        (
            PinnedFile(
                *_QWEN3,
                "cookbooks/mobile_agent.ipynb",
                "210446a6662a8f566b9bdc9e53153cbbb6f4f417a52dc1ba8399352e739b18d4",
                3_941_592,
            ),
        ),
        texts_sha256="e3d917f07bf113a3e0bb3e67a49cce3eeff763463925acfe8d96d31e7c6084b6",
    ),
    Official(
        "qwen3vl",
        "package",
        "the function-call prompt in package qwen-agent, around our description of the tool",
        recipes.qwen3vl_frame,
        package=_QWEN_PACKAGE,
    ),
)

OFFICIAL: Final[Mapping[str, tuple[Official, ...]]] = MappingProxyType(
    {family: tuple(s for s in _ALL if s.family == family) for family in dict.fromkeys(s.family for s in _ALL)}
)
"""Family to its official sources, the best first. A family that is not here has none."""
