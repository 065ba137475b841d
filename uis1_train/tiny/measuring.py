"""What the study measures of a model folder: SOP, static accuracy and the live phone, on held-out parameters and on held-out templates."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from emulator.pocket.tasks import start
from sopbench.adapters import get_adapter
from sopbench.protocols.online import OnlineEpisode
from uis1_train.tiny import eyes, fast
from uis1_train.tiny.corpus import Corpus
from uis1_train.tiny.folder import load_folder
from uis1_train.tiny.lessons import Tongue
from uis1_train.tiny.playing import NamedScreen, Player, ask_of, sop, static, trajectory
from uis1_train.tiny.recording import SMALL


def measure(folder: Path, splits: dict[str, Path], out: Path) -> dict[str, Any]:
    """Of the weights in `folder`, for each split: one value for each trajectory or task, kept in `out`; measured once."""
    if out.exists():
        found: dict[str, Any] = json.loads(out.read_text())
        return found
    torch.set_num_threads(1)
    model, tok = load_folder(folder)
    tongue = Tongue(tok)
    facts: dict[str, Any] = {}
    for name, where in splits.items():
        corpus = Corpus(where)
        screens = eyes.embed_all(model, corpus.images, len(corpus))
        player = Player(model, tongue, screens)
        tasks = [trajectory(r, corpus.number) for r in corpus.recordings]
        played = sop(player, tasks)
        hits, _ = static(player, tasks)
        ends = np.cumsum([len(t) for t in tasks])
        facts[name] = {
            "ids": [t.id for t in tasks],
            "progress": played.progress,
            "success": [float(s) for s in played.success],
            "static": [float(np.mean(hits[end - len(t) : end])) for t, end in zip(tasks, ends, strict=True)],
            "static_steps": float(np.mean(hits)),
            "online": online(model, tongue, corpus),
        }
    out.write_text(json.dumps(facts))
    return facts


def online(model: Any, tongue: Tongue, corpus: Corpus, together: int = 32) -> list[float]:
    """The live phone's own verdict on each task of the corpus, greedy, with a budget of twice the expert's steps and four."""
    adapter = get_adapter("tiny")
    scores: dict[int, float] = {}
    waiting = list(enumerate(corpus.recordings))
    playing: list[tuple[int, Any, OnlineEpisode]] = []
    while waiting or playing:
        while waiting and len(playing) < together:
            number, recording = waiting.pop(0)
            session = start(recording.template, recording.seed, "large")
            budget = 2 * len(recording.steps) + 4
            playing.append((number, session, OnlineEpisode(session.goal, adapter, NamedScreen(0), budget=budget)))
        seen = np.stack([_pixels(session.phone) for _, session, _ in playing])
        with torch.no_grad():
            player = Player(model, tongue, fast.see(model, seen).numpy().astype(np.float16))
        asks = []
        for at, (_, _, episode) in enumerate(playing):
            pending = episode.pending()
            assert pending is not None  # whoever is over has left
            asks.append((ask_of(pending.messages)[0], at))
        left = []
        for reply, (number, session, episode) in zip(player.answer(asks), playing, strict=True):
            result = episode.advance(reply.text)
            if result.action is not None:
                session.phone.act(result.action)
            if not episode.said_done:
                episode.observe(NamedScreen(0))
            if episode.over:
                scores[number] = session.score()
            else:
                left.append((number, session, episode))
        playing = left
    return [scores[number] for number in range(len(corpus.recordings))]


def _pixels(phone: Any) -> Any:
    return np.asarray(phone.screen().convert("RGB").resize(SMALL, Image.Resampling.BICUBIC))


def mean_interval(rows: Sequence[Sequence[float]], resamples: int = 2000, seed: int = 0) -> tuple[float, float, float]:
    """Mean over runs and tasks, in percent, with a 95% interval that resamples runs (seeds) and tasks alike."""
    values = np.array(rows, dtype=np.float64)
    rng = np.random.default_rng(seed)
    runs, tasks = values.shape
    means = [
        values[rng.integers(0, runs, (runs, 1)), rng.integers(0, tasks, (1, tasks))].mean() for _ in range(resamples)
    ]
    low, high = np.quantile(means, (0.025, 0.975))
    return 100 * float(values.mean()), 100 * float(low), 100 * float(high)
