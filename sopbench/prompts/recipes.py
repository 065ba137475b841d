"""How each family's templates are made of its publisher's files. Where a text is computed, the file's own code computes it, in `rendering`.

What is cut out or put together here is said in `docs/prompts.md`. Templates that a recipe does not give are ours: nothing published stands for them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Final

from sopbench.errors import PromptError
from sopbench.prompts import literals
from sopbench.prompts.literals import as_text, assigned, code_blocks, code_cells, find_template, formatted, parsed
from sopbench.prompts.rendering import render

NOUS: Final = "nous_fncall_prompt.py"
_TOOLS = re.compile(r"<tools>\n(.*)\n</tools>", re.DOTALL)


def file_text(files: Mapping[str, bytes], ending: str) -> str:
    """The text of the one file whose path ends so."""
    found = [path for path in files if path.endswith(ending)]
    if len(found) != 1:
        raise PromptError(f"{ending}: it is not among the files of this source")
    return as_text(files[found[0]], found[0])


def uis1(files: Mapping[str, bytes]) -> dict[str, str]:
    """The released `JsonFormat` writes a conversation about a goal that is a mark, and the turns of it are the templates."""
    modules = {path.removeprefix("UI-S1/"): as_text(data, path) for path, data in files.items()}
    return _guarded(render({"job": "conversation", "files": modules}), frozenset({"goal"}))


def agentcpm(files: Mapping[str, bytes]) -> dict[str, str]:
    """The example for servers such as vLLM: its question holds the place of the image, without which MiniCPM-V's chat template would put it first."""
    readme = file_text(files, "README.md")
    block = literals.the_only(
        [b for b in code_blocks(readme) if "SYSTEM_PROMPT" in b and "image_url" in b], "README.md"
    )
    tree = parsed(block, "README.md")
    schema = "eval/utils/schema/schema.json"
    job = {
        "job": "statements",
        "files": {schema: file_text(files, schema)},
        "code": ast.unparse(ast.Module(statements_for("SYSTEM_PROMPT", tree), [])),
        "names": ["SYSTEM_PROMPT"],
    }
    system = _guarded(render(job), frozenset())["SYSTEM_PROMPT"]
    return {"system": system, "user": find_template(tree, {"text_prompt": "goal"}, "README.md: the question")}


def statements_for(name: str, tree: ast.Module) -> list[ast.stmt]:
    """The top-level statements that `name` depends on: assignments, and calls of methods of what was assigned. Imports are left out."""
    needed = {name}
    chosen: list[ast.stmt] = []
    for statement in reversed(tree.body):
        if isinstance(statement, ast.Assign):
            bound = {target.id for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            owner = statement.value.func.value if isinstance(statement.value.func, ast.Attribute) else None
            bound = {owner.id} if isinstance(owner, ast.Name) else set()
        else:
            continue
        if bound & needed:
            chosen.append(statement)
            needed |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    return chosen[::-1]


def os_atlas(files: Mapping[str, bytes]) -> dict[str, str]:
    """Two published samples of one episode: what they share is the prompt, the expert's step instruction is cut out of it."""
    lines = file_text(files, "ac_test.jsonl").splitlines()
    try:
        first, second = (json.loads(line)["conversations"] for line in lines[:2])
        (before, task), (_, later) = (said[0]["value"].split("<image>") for said in (first, second))
        instruction = _between(first[1]["value"], "\n", "\n")
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise PromptError(f"ac_test.jsonl: it is not made as expected ({type(error).__name__})") from error
    found = re.fullmatch(
        r"(\n[^:]*: )(.*) [^.:]*: " + re.escape(instruction) + r"(\n[^:]*: \n)(.*)(\n)", task, re.DOTALL
    )
    if found is None:
        raise PromptError("ac_test.jsonl: task and history are not where they were expected")
    label, goal, history, nothing, end = found.groups()
    told = later.partition(history)[2].removesuffix(end)
    step = re.fullmatch(r"([^\d]*)1(: )" + re.escape(instruction) + r"(\n)", told)
    if step is None or not later.startswith(label + goal):
        raise PromptError("ac_test.jsonl: the second sample does not tell the first one's step")
    return {
        "space": literals.without_fields(before),
        "task": _checked(label) + "{goal}" + _checked(history) + "{history}" + _checked(end),
        "no_history": _checked(nothing),
        "step": _checked(step[1]) + "{number}" + _checked(step[2]) + "{action}" + _checked(step[3]),
    }


def os_genesis(files: Mapping[str, bytes]) -> dict[str, str]:
    what = "genesis_agents.py"
    tree = parsed(file_text(files, what), what)
    names = assigned(tree)
    if "ACTION_SELECTION_PROMPT_TEMPLATE" not in names:
        raise PromptError(f"{what}: there is no ACTION_SELECTION_PROMPT_TEMPLATE in it")
    whole = literals.literal(names["ACTION_SELECTION_PROMPT_TEMPLATE"], names)
    user = formatted(whole, {"goal": "{goal}", "history": "{progress}", "accessibility_tree": ""})
    number = {"str(i + 1)": "number"}
    summary, action = "step_info['summary']", "step_info['action']"
    step = find_template(tree, {**number, summary: "thought", action: "action"}, f"{what}: a step")
    # The publisher joins the steps by line breaks, an adapter does not: each step brings its own, and the one behind the last is taken from the text.
    return {
        "user": user.replace("{progress}\n", "{progress}", 1),
        "no_progress": "\n",
        "step": step + "\n",
        "step_without_thought": step.replace("{thought}", "") + "\n",
    }


def ui_tars(files: Mapping[str, bytes]) -> dict[str, str]:
    """The README puts the instruction behind the text. Nothing published there says what the system is told, so no system message is sent."""
    what = "README_v1.md"
    blocks = [block for block in code_blocks(file_text(files, what)) if "long_press(" in block]
    text = literals.literal_of(literals.the_only(blocks, what), "prompt", what)
    return {"system": "", "task": literals.without_fields(text) + "{goal}"}


def ui_tars15(files: Mapping[str, bytes]) -> dict[str, str]:
    what = "ui_tars/prompt.py"
    text = literals.literal_of(file_text(files, what), "MOBILE_USE_DOUBAO", what)
    return {"system": "", "task": formatted(text, {"language": "English", "instruction": "{goal}"})}


def qwen25vl(files: Mapping[str, bytes]) -> dict[str, str]:
    what = "mobile_agent.ipynb"
    job = {
        "job": "tool",
        "files": {"agent_function_call.py": file_text(files, "agent_function_call.py")},
        "module": "agent_function_call",
        "class": "MobileUse",
    }
    tool = _guarded(render(job), frozenset({"width", "height"}))["function"]
    cell = parsed(_first_cell(file_text(files, what), "user_query", what), what)
    return {
        "system": f"{_system_of(cell, what)}\n\n{_framed(files, tool)}",
        **_sample_query(literals.literal(assigned(cell)["user_query"]), what),
        "no_progress": "",
    }


def qwen3vl(files: Mapping[str, bytes]) -> dict[str, str]:
    what = "mobile_agent.ipynb"
    cell = parsed(_first_cell(file_text(files, what), "system_prompt", what), what)
    names = assigned(cell)
    said = "str(his.replace('\\n', '').replace('\"', ''))"
    return {
        "system": literals.without_fields(literals.literal(names["system_prompt"])),
        "user": find_template(cell, {"instruction": "goal", "stage2_history": "progress"}, f"{what}: the query"),
        "step": find_template(cell, {"str(idx + 1)": "number", said: "action"}, f"{what}: a step"),
        "no_progress": "",
    }


def qwen25vl_frame(files: Mapping[str, bytes]) -> dict[str, str]:
    from sopbench.prompts.builtin_qwen25vl import TEXTS

    return {"system": _our_tool_framed(files, TEXTS.templates["system"])}


def qwen3vl_frame(files: Mapping[str, bytes]) -> dict[str, str]:
    from sopbench.prompts.builtin_qwen3vl import TEXTS

    return {"system": _our_tool_framed(files, TEXTS.templates["system"])}


def _our_tool_framed(files: Mapping[str, bytes], system: str) -> str:
    """Our own system text with the package's frame around the tool in the place of ours."""
    found = _TOOLS.search(system)
    assert found is not None  # both built-in texts have it, a test says so
    tool = json.dumps(json.loads(found[1]), ensure_ascii=False)
    return f"{system[: found.start()]}{_framed(files, tool)}{system[found.end() :]}"


def _framed(files: Mapping[str, bytes], tool: str) -> str:
    text = literals.literal_of(file_text(files, NOUS), "FN_CALL_TEMPLATE", NOUS)
    return formatted(text, {"tool_descs": tool})


def _first_cell(notebook: str, name: str, what: str) -> str:
    for cell in code_cells(notebook, what):
        if re.search(rf"^{name} = ", cell, re.MULTILINE):
            return cell
    raise PromptError(f"{what}: no cell assigns {name}")


def _system_of(cell: ast.Module, what: str) -> str:
    """The text of `Message(role="system", content=[ContentItem(text=...)])`."""
    for node in ast.walk(cell):
        if isinstance(node, ast.Call) and any(
            keyword.arg == "role" and isinstance(keyword.value, ast.Constant) and keyword.value.value == "system"
            for keyword in node.keywords
        ):
            texts = [k.value for n in ast.walk(node) if isinstance(n, ast.Call) for k in n.keywords if k.arg == "text"]
            return literals.without_fields("".join(literals.literal(text) for text in texts))
    raise PromptError(f"{what}: there is no system message in it")


def _sample_query(text: str, what: str) -> dict[str, str]:
    """A published sample, two lines of `label: value`, as a template. Its one step is a call, of which an adapter fills in the arguments."""
    found = re.fullmatch(r"([^:\n]*: *)([^\n]*)(\n[^:\n]*: )([^\d\n]*)1(: )(\{[^\n]*\})(; )", text)
    if found is None:
        raise PromptError(f"{what}: the sample query is not made as expected")
    task, _, progress, step, colon, call, end = found.groups()
    try:
        arguments = json.dumps(json.loads(call)["arguments"], ensure_ascii=False)
    except (ValueError, KeyError, TypeError) as error:
        raise PromptError(f"{what}: the sample query has no call in it") from error
    if call.count(arguments) != 1:
        raise PromptError(f"{what}: the call in the sample query is not written as expected")
    return {
        "user": _checked(task) + "{goal}" + _checked(progress) + "{progress}",
        "step": f"{_checked(step)}{{number}}{colon}{_checked(call).replace(arguments, '{action}')}{_checked(end)}",
    }


def _between(text: str, start: str, end: str) -> str:
    return text.split(start, 1)[1].split(end, 1)[0]


def _checked(text: str) -> str:
    return literals.without_fields(text)


def _guarded(texts: Mapping[str, str], expected: frozenset[str]) -> dict[str, str]:
    """Rendered texts, whose marks are fields already. Nothing else may look like one."""
    for name, text in texts.items():
        if extra := literals.fields_of(text) - expected:
            raise PromptError(f"the publisher's {name} contains {{{min(extra)}}}, which would be filled in")
    return dict(texts)
