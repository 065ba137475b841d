"""A stand-in for `vllm serve MODEL`: it solves the first so many PocketPhone trajectories that `MODEL/skill` says, and gives up on the others.

python skilled_server.py MODEL NAME PORT
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sopbench.actions import Terminate
from sopbench.adapters import get_adapter
from sopbench.suites import get_suite
from sopbench.suites.base import DataSource


def main() -> None:
    model, name, port = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if not (model / "skill").is_file():
        print("this model has no skill", flush=True)
        sys.exit(7)
    trajectories = get_suite("pocket").load(DataSource()).trajectories
    solved, size = trajectories[: int((model / "skill").read_text())], trajectories[0].steps[0].screen.size
    adapter = get_adapter("uis1")

    def reply(body: dict[str, Any]) -> str:
        text = json.dumps(body["messages"], ensure_ascii=False)
        step = sum(message["role"] == "assistant" for message in body["messages"])
        for trajectory in solved:
            if json.dumps(trajectory.goal, ensure_ascii=False)[1:-1] in text:
                expert = trajectory.steps[step]
                return adapter.format(expert.action(), expert.screen.size)
        return adapter.format(Terminate("failure"), size)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": name, "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            choice = {"index": 0, "message": {"role": "assistant", "content": reply(body)}, "finish_reason": "stop"}
            self._send({"id": "1", "object": "chat.completion", "model": name, "choices": [choice]})

        def _send(self, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
