"""Asking an endpoint what it serves."""

from __future__ import annotations

from dataclasses import dataclass, field

import fault_server as faults
import pytest
from fault_server import closed_port, status

from sopbench.clients import make_policy
from sopbench.clients.base import Sampling
from sopbench.clients.served import EndpointError, ServedModel, only_model, served_models


async def test_models_and_their_context_are_listed(fault_server):
    server = fault_server(models=[{"id": "tiny", "max_model_len": 2048}, {"id": "other"}])
    assert await served_models(server.base_url) == (ServedModel("tiny", 2048), ServedModel("other", None))


@pytest.mark.parametrize("form", ["{}", "{}/v1", "{}/v1/", "{}/v1/chat/completions", "{}/v1/models"])
async def test_the_address_may_be_written_as_people_write_it(fault_server, form):
    server = fault_server()
    assert await only_model(form.format(f"http://127.0.0.1:{server.port}")) == "tiny"


async def test_several_models_are_listed_and_one_has_to_be_chosen(fault_server):
    server = fault_server(models=[{"id": "base"}, {"id": "lora"}])
    with pytest.raises(EndpointError, match=r"--model NAME --base-url .* serves: base, lora"):
        await only_model(server.base_url)


async def test_no_model_at_all(fault_server):
    with pytest.raises(EndpointError, match="lists no model"):
        await only_model(fault_server(models=[]).base_url)


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        (status(401), "SOPBENCH_API_KEY"),
        (status(404, "Not Found"), "Name the model yourself"),
        (status(503), "HTTP 503"),
        (faults.raw("<html>", content_type="text/html"), "no JSON"),
        (faults.raw("[1]"), "no list of models"),
        (faults.raw('{"data": 3}'), "no list of models"),
        (faults.raw('{"data": [3, {"id": 4}]}'), "lists no model"),
        (faults.raw("[" * 100_000), "no JSON"),
        (faults.huge(32 << 20), "no list of models"),
        (faults.reset(), "cannot be reached"),
    ],
)
async def test_what_is_wrong_is_said(fault_server, behaviour, says):
    with pytest.raises(EndpointError, match=says):
        await only_model(fault_server(models_behaviour=behaviour).base_url)


async def test_nothing_listens():
    with pytest.raises(EndpointError, match="cannot be reached"):
        await only_model(f"http://127.0.0.1:{closed_port()}")


async def test_no_answer(fault_server):
    with pytest.raises(EndpointError, match=r"does not answer within 0\.2 s"):
        await served_models(fault_server(models_behaviour=faults.silence()).base_url, patience=0.2)


async def test_the_key_is_sent_and_not_told(fault_server):
    server = fault_server(models_behaviour=status(400, "bad key sk-secret-2"))
    with pytest.raises(EndpointError) as caught:
        await served_models(server.base_url, api_key="sk-secret-2")
    assert "sk-secret-2" not in str(caught.value)


@dataclass(frozen=True)
class Options:
    """What `make_policy` reads of a run's configuration."""

    model: str
    base_urls: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    seed: int | None = None
    concurrency: int = 2
    adaptive: bool = False
    attempt_timeout: float = 5.0
    deadline: float = 5.0
    max_attempts: int = 1


async def test_an_address_as_model_is_asked_what_it_serves_and_recorded(fault_server):
    server = fault_server()
    policy = await make_policy(Options(f"http://127.0.0.1:{server.port}"))
    assert policy.describe()["model"] == "tiny"
    assert policy.settings() == {"base_urls": [server.base_url]}
    await policy.close()


POSING = {
    "built in": "builtin:oracle",
    "address": "http://elsewhere:1/v1",
    "escape": "\x1b[31mred",
    "line break": "a\nb",
    "reversed": "\u202egpj",
    "half a pair": "\ud800",
    "long": "a" * 3_000,
    "empty": "",
}


@pytest.mark.parametrize("name", POSING.values(), ids=POSING)
async def test_a_name_that_would_pose_as_something_else_is_not_taken(fault_server, name):
    """The endpoint chooses the name; it goes into records, requests and terminals, and comes back as --model when the run is resumed."""
    server = fault_server(models=[{"id": name}])
    with pytest.raises(EndpointError, match="served-model-name") as caught:
        await only_model(server.base_url)
    assert str(caught.value).isprintable()
