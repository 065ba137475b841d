# vllm is known only in the server's environment, where this file runs.
# mypy: disable-error-code="import-not-found, import-untyped, misc, untyped-decorator, unused-ignore"
"""A tool parser for vLLM (`--tool-parser-plugin`): what the tiny model says in the colour language becomes tool calls, as vLLM's own parsers make them of
other models' words.

`<think>..</think>` stays in the content, and `<action>{"action": NAME, ...}</action>` becomes a call of NAME with the rest as arguments.
"""

from __future__ import annotations

import json
import re
from typing import Any

from vllm.entrypoints.generate.base.protocol import ExtractedToolCallInformation, FunctionCall, ToolCall
from vllm.tool_parsers import ToolParser, ToolParserManager

ACTION = re.compile(r"<action>(\{.*?\})</action>", re.DOTALL)


@ToolParserManager.register_module("colours")
class ColourTools(ToolParser):
    def extract_tool_calls(self, model_output: str, request: Any) -> ExtractedToolCallInformation:
        calls = []
        try:
            for action in ACTION.findall(model_output):
                arguments = json.loads(action)
                function = FunctionCall(name=arguments.pop("action"), arguments=json.dumps(arguments))
                calls.append(ToolCall(type="function", function=function))
        except (ValueError, KeyError):  # like vLLM's own parsers: what is no call is content
            return ExtractedToolCallInformation(tools_called=False, tool_calls=[], content=model_output)
        content = ACTION.sub("", model_output).strip()
        return ExtractedToolCallInformation(tools_called=bool(calls), tool_calls=calls, content=content or None)
