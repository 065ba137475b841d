"""An endpoint that answers every request, after a fixed time, with the same swipe.

    python tests/benchmarks/mock_endpoint.py --latency 0.2 [--port 0]

prints the port that it listens on, on loopback, and serves until it is stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket

from aiohttp import web

REPLY = '<think>\nscroll on\n</think>\n<action>\n{"action": "swipe", "coordinate": [546, 1800], "coordinate2": [546, 600]}\n</action>'
COMPLETION = json.dumps(
    {
        "id": "mock",
        "object": "chat.completion",
        "created": 0,
        "model": "mock",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}}],
        "usage": {"prompt_tokens": 7000, "completion_tokens": 40, "total_tokens": 7040},
    }
).encode()


async def serve(port: int, latency: float) -> None:
    async def chat(request: web.Request) -> web.Response:
        async for _ in request.content.iter_any():  # thrown away: the mock should cost as little as it can
            pass
        await asyncio.sleep(latency)
        return web.Response(body=COMPLETION, content_type="application/json")

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "mock", "object": "model"}]})

    app = web.Application(client_max_size=1 << 30)
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", port), backlog=1024)
    await web.SockSite(runner, listener).start()
    print(listener.getsockname()[1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.2)
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.latency))
