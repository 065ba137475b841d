"""A family that takes small images: what reaches the server, what the record says of it, and what it costs where nothing is sent."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from fault_server import Behaviour, answer, completion
from PIL import Image
from recordings import Recording, make_recording

import sopbench
from sopbench import resized
from sopbench.adapters import get_adapter
from sopbench.adapters.base import Message, Text, Turn
from sopbench.clients.base import Ask
from sopbench.clients.pool import EndpointPool
from sopbench.geometry import Size
from sopbench.screen import Screen

AGENT_SAYS = '{"thought":"on","POINT":[500,750],"to":"up"}'


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "data", n=2, length=2)


def pictures_of(raw: bytes) -> list[bytes]:
    urls = [
        part["image_url"]["url"]
        for message in json.loads(raw)["messages"]
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    assert all(url.startswith("data:image/png;base64,") for url in urls)
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def flaky() -> Behaviour:
    """Every other request fails."""
    seen = 0

    async def behave(request: web.Request, got: Any) -> web.StreamResponse:
        nonlocal seen
        seen += 1
        return web.json_response(completion(AGENT_SAYS), status=503 if seen % 2 else 200)

    return behave


def test_the_server_gets_scaled_screens_and_the_record_names_the_recorded_ones(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    server = fault_server(answer(AGENT_SAYS))
    run = sopbench.run(
        **recording.options, adapter="agentcpm", model="tiny", base_urls=(server.base_url,), out=tmp_path / "run"
    )
    assert (run.summary["n"], run.summary["tsr"]) == (2, 100.0)
    sent = [picture for got in server.requests for picture in pictures_of(got.raw)]
    assert len(sent) == 4
    for data in sent:
        with Image.open(io.BytesIO(data)) as picture:
            assert picture.size == (504, 1120)
    files = {hashlib.sha256(file.read_bytes()).hexdigest() for file in recording.images.iterdir()}
    assert {image for images in run.steps["images"] for image in images} == files
    assert run.steps["prompt_sha256"].nunique() == 4


def test_a_second_try_sends_the_same_bytes_without_scaling_again(
    recording: Recording, tmp_path: Path, fault_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    scale = resized.scaled_png

    def counting(screen: Any, size: Any) -> bytes:
        made.append(screen.label)
        return scale(screen, size)

    monkeypatch.setattr(resized, "scaled_png", counting)
    resized._store.cache_clear()
    server = fault_server(flaky())
    run = sopbench.run(
        **recording.options,
        adapter="agentcpm",
        model="tiny",
        base_urls=(server.base_url,),
        concurrency=1,
        out=tmp_path / "run",
    )
    assert run.summary["retries"] == 4
    sent = [pictures_of(got.raw)[0] for got in server.requests]
    assert sent[::2] == sent[1::2]
    assert sorted(made) == sorted(file.name for file in recording.images.iterdir())


def test_policies_that_send_nothing_scale_nothing(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resized, "scaled_png", lambda screen, size: pytest.fail("scaled"))
    run = sopbench.run(**recording.options, adapter="agentcpm", model="builtin:oracle", out=tmp_path / "run")
    assert run.summary["tsr"] == 100.0


def test_a_screen_that_breaks_while_it_is_scaled_costs_its_own_trajectory_only(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    torn = recording.images / "0_1.png"
    torn.write_bytes(torn.read_bytes()[:80])
    server = fault_server(answer(AGENT_SAYS))
    run = sopbench.run(
        **recording.options, adapter="agentcpm", model="tiny", base_urls=(server.base_url,), out=tmp_path / "run"
    )
    assert (run.summary["scored_trajectories"], run.summary["not_scored_trajectories"]) == (1, 1)
    errors = [json.loads(line).get("error") for line in (tmp_path / "run" / "steps.jsonl").read_text().splitlines()]
    (error,) = [error for error in errors if error is not None]
    assert error["reason"] == "screen"
    assert "0_1.png" in error["detail"]


def test_the_loop_goes_on_while_screens_are_scaled(
    recording: Recording, fault_server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scaling happens in a thread: a request without images is answered meanwhile."""
    gate = threading.Event()
    scale = resized.scaled_png

    def held(screen: Any, size: Any) -> bytes:
        assert gate.wait(10)
        return scale(screen, size)

    monkeypatch.setattr(resized, "scaled_png", held)
    resized._store.cache_clear()
    server = fault_server(answer("hello"))
    adapter = get_adapter("agentcpm")
    screen = Screen.from_file(recording.images / "0_0.png")
    size = Size(540, 1200)

    async def both() -> list[str]:
        async with EndpointPool([server.base_url], "tiny") as pool:
            messages = adapter.render("goal", [Turn(screen)], 1)
            slow = asyncio.create_task(pool.ask(Ask(("a", 0, 0), messages, size, adapter)))
            plain = await pool.ask(Ask(("b", 0, 0), (Message("user", (Text("hi"),)),), size, adapter))
            assert not slow.done()
            gate.set()
            return [plain.text, (await slow).text]

    assert asyncio.run(both()) == ["hello", "hello"]
