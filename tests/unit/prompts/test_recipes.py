"""Each family's recipe on files of the publisher's shape and of our words."""

from __future__ import annotations

import json

import pytest

from sopbench.adapters import ADAPTERS
from sopbench.errors import PromptError
from sopbench.prompts import builtin, recipes
from sopbench.prompts.catalogue import OFFICIAL
from sopbench.prompts.literals import fields_of
from sopbench.prompts.texts import PromptTexts

NOUS = 'FN_CALL_TEMPLATE = """Use\n<tools>\n{tool_descs}\n</tools>\nas {{"name": ...}}"""\nOTHER = f()\n'


def files(**texts: str) -> dict[str, bytes]:
    return {path.replace("__", "/").replace("_dot_", "."): text.encode() for path, text in texts.items()}


def filled(family: str, templates: dict[str, str], name: str, **fields: str | int) -> str:
    return PromptTexts(family, "pulled", templates).fill(name, **fields)


README = """
# Agent
```python
SYSTEM_PROMPT = 'for transformers'
```
```python
import json, requests
SCHEMA = json.load(open('eval/utils/schema/schema.json', encoding="utf-8"))
items = list(SCHEMA.items())
items.insert(1, ("required", ["t"]))
SCHEMA = dict(items)
print("a call of no method")
SYSTEM_PROMPT = f\'\'\'Answer by
{json.dumps(SCHEMA, ensure_ascii=False)}\'\'\'

def predict(text_prompt, image):
    requests.post("somewhere")
    return [{"text": f"<Q>{text_prompt}</Q>\\nnow: (image)"}, {"image_url": f"data:{encode(image)}"}]
```
"""


def test_agentcpm() -> None:
    given = files(README_dot_md=README) | {"eval/utils/schema/schema.json": '{"a": 1, "z": "ö"}'.encode()}
    assert recipes.agentcpm(given) == {
        "system": 'Answer by\n{"a": 1, "required": ["t"], "z": "ö"}',
        "user": "<Q>{goal}</Q>\nnow: (image)",
    }


def sample(before: str, task: str, reply: str) -> str:
    return json.dumps({"conversations": [{"value": f"{before}<image>{task}"}, {"value": reply}]})


def test_os_atlas() -> None:
    lines = [
        sample(
            "Space:\nScreen: ",
            '\nTask: Send "it". Now: open Mail.\nDone: \nNothing\n',
            "thoughts:\nopen Mail.\nactions:\nX",
        ),
        sample(
            "Space:\nScreen: ",
            '\nTask: Send "it". Now: tap New.\nDone: \nStep 1: open Mail.\n\n',
            "thoughts:\ntap New.\nactions:\nY",
        ),
        "not looked at",
    ]
    made = recipes.os_atlas(files(eval__data__ac_test_dot_jsonl="\n".join(lines)))
    assert made == {
        "space": "Space:\nScreen: ",
        "task": "\nTask: {goal}\nDone: \n{history}\n",
        "no_history": "Nothing",
        "step": "Step {number}: {action}\n",
    }
    lines[1] = lines[1].replace("open Mail", "open Maps")
    with pytest.raises(PromptError, match="does not tell the first one's step"):
        recipes.os_atlas(files(ac_test_dot_jsonl="\n".join(lines)))


@pytest.mark.parametrize("text", ["", "{}\n{}", "5\n5", '{"conversations": []}\n{"conversations": []}', "[" * 9999])
def test_os_atlas_from_something_else(text: str) -> None:
    with pytest.raises(PromptError, match=r"ac_test\.jsonl"):
        recipes.os_atlas(files(ac_test_dot_jsonl=text))


GENESIS = """
import torch
PREFIX = ('Expert.')
ACTION_SELECTION_PROMPT_TEMPLATE = (PREFIX + '\\n\\nGoal: {goal}\\n\\n' + 'History: {history}\\n\\n' + 'Tree: {accessibility_tree}\\n\\n' + 'Next?')
class M3A:
    def step(self):
        return ask(['Step ' + str(i + 1) + ': ' + step_info['summary'] + (' does: ' + step_info['action'] if 'action' in step_info else '')
            for i, step_info in enumerate(self.history)])
"""


def test_os_genesis_history_is_as_the_publisher_joins_it() -> None:
    made = recipes.os_genesis(files(genesis_agents_dot_py=GENESIS))
    steps = "".join(filled("os_genesis", made, "step", number=n, thought=f"t{n}", action="{}") for n in (1, 2))
    told = filled("os_genesis", made, "user", goal="g", progress=steps)
    assert told == "Expert.\n\nGoal: g\n\nHistory: Step 1: t1 does: {}\nStep 2: t2 does: {}\n\nTree: \n\nNext?"
    first = filled("os_genesis", made, "user", goal="g", progress=made["no_progress"])
    assert first == "Expert.\n\nGoal: g\n\nHistory: \n\nTree: \n\nNext?"
    assert filled("os_genesis", made, "step_without_thought", number=3, action="{}") == "Step 3:  does: {}\n"


def test_ui_tars() -> None:
    text = '```python\nprompt = r"""click only"""\n```\n```python\n## c\nprompt = r"""Act:\n```\\nT\n```\\n\nlong_press(x)\n## You\n"""\n```\n'
    made = recipes.ui_tars(files(README_v1_dot_md=text))
    assert made == {"system": "", "task": "Act:\n```\\nT\n```\\n\nlong_press(x)\n## You\n{goal}"}


def test_ui_tars15() -> None:
    made = recipes.ui_tars15(
        files(codes__ui_tars__prompt_dot_py='MOBILE_USE_DOUBAO = """Use {language}.\n{instruction}\n"""\n')
    )
    assert made == {"system": "", "task": "Use English.\n{goal}\n"}


TOOL = """
from qwen_agent.tools.base import BaseTool, register_tool

@register_tool("mobile_use")
class MobileUse(BaseTool):
    @property
    def description(self):
        return f"Screen {self.display_width_px}x{self.display_height_px}"
    parameters = {"a": "  p ".strip()}
    def __init__(self, cfg=None):
        self.display_width_px = cfg["display_width_px"]
        self.display_height_px = cfg["display_height_px"]
        super().__init__(cfg)
"""


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]})


def test_qwen25vl() -> None:
    query = """user_query = 'Query:  Send, it\\nProgress (so far): Step 1: {"name": "mobile_use", "arguments": {"action": "wait"}}; '\n"""
    cell = (
        query
        + 'm = [Message(role="system", content=[ContentItem(text="Be kind.")]), Message(role="user", content=[])]\n'
    )
    given = files(mobile_agent_dot_ipynb=notebook("!pip install x", cell), agent_function_call_dot_py=TOOL)
    made = recipes.qwen25vl(given | {"a/nous_fncall_prompt.py": NOUS.encode()})
    tool = '{"type": "function", "function": {"name": "mobile_use", "description": "Screen 9x8", "parameters": {"a": "p"}}}'
    assert filled("qwen25vl", made, "system", width=9, height=8) == (
        f'Be kind.\n\nUse\n<tools>\n{tool}\n</tools>\nas {{"name": ...}}'
    )
    assert (made["user"], made["no_progress"]) == ("Query:  {goal}\nProgress (so far): {progress}", "")
    assert filled("qwen25vl", made, "step", number=2, action='{"x": 1}') == (
        'Step 2: {"name": "mobile_use", "arguments": {"x": 1}}; '
    )


def test_qwen3vl() -> None:
    cell = (
        'system_prompt = "\\n\\nTools {}"\ninstruction = "Send it."\nstage2 = ""\nfor idx, his in enumerate(history):\n'
        "    stage2_history += 'Step ' + str(idx + 1) + ': ' + str(his.replace('\\n', '').replace('\"', '')) + '; '\n"
        'user_query = f"Query: {instruction}.\\nProgress: {stage2_history}.\\n"\n'
    )
    assert recipes.qwen3vl(files(mobile_agent_dot_ipynb=notebook("x = 1", cell))) == {
        "system": "\n\nTools {}",
        "user": "Query: {goal}.\nProgress: {progress}.\n",
        "step": "Step {number}: {action}; ",
        "no_progress": "",
    }


@pytest.mark.parametrize("family", ["qwen25vl", "qwen3vl"])
def test_the_package_s_frame_stands_around_our_tool(family: str) -> None:
    recipe = next(source.recipe for source in OFFICIAL[family] if source.kind == "package")
    system = recipe({"qwen_agent/llm/fncall_prompts/nous_fncall_prompt.py": NOUS.encode()})["system"]
    before, tool, after = system.split("<tools>\n")[0], system.split("<tools>\n")[1].split("\n</tools>")[0], system
    assert before.endswith("\n\nUse\n")
    assert '</tools>\nas {"name": ...}' in after
    ours = builtin(family).templates["system"].split("<tools>\n")[1].split("\n</tools>")[0]
    assert json.loads(tool) == json.loads(ours)
    assert fields_of(system) == {"width", "height"}


@pytest.mark.parametrize("family", sorted(OFFICIAL))
def test_an_official_source_has_a_builtin_one_to_fall_back_on(family: str) -> None:
    assert family in ADAPTERS
    assert builtin(family).family == family


@pytest.mark.parametrize(
    "source", [s for sources in OFFICIAL.values() for s in sources], ids=lambda s: f"{s.family}-{s.kind}"
)
def test_a_source_is_pinned(source: object) -> None:
    from sopbench.prompts.catalogue import Official

    assert isinstance(source, Official)
    if source.kind == "package":
        assert source.package is not None
        assert not source.files
        return
    assert len(source.texts_sha256) == 64
    assert source.files
    for pin in source.files:
        assert (len(pin.commit), len(pin.sha256)) == (40, 64)
        assert 0 < pin.size < 8 * 2**20


def test_a_file_that_the_source_lacks_is_named() -> None:
    with pytest.raises(PromptError, match=r"README\.md: it is not among the files"):
        recipes.agentcpm({})
