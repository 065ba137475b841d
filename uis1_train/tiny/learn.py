"""The recipe: first the eyes (see `eyes`), then the rest on embedded screens. As many processes as asked for, gradients averaged; a budget in minutes; resumable."""

from __future__ import annotations

import json
import os
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional as F

from uis1_train.tiny import eyes, fast
from uis1_train.tiny.corpus import Corpus
from uis1_train.tiny.folder import (
    Shape,
    load_folder,
    near_each_other,
    new_model,
    parameters,
    vocabulary_from,
    write_folder,
)
from uis1_train.tiny.lessons import Row, Tongue, cells_of, grounding_row, load_targets, save_targets, step_row, targets
from uis1_train.tiny.playing import Player, sop, static, trajectory
from uis1_train.tiny.recording import Recording


@dataclass(frozen=True)
class Recipe:
    """minutes are of wall clock, without making the recordings; where steps are given, they are the budget instead. rates are AdamW's highest. `copies` and `points` weigh the supervision of attention."""

    shape: Shape = field(default_factory=Shape)
    eye_minutes: float = 10.0
    hand_minutes: float = 30.0
    eye_steps: int | None = None
    hand_steps: int | None = None
    eye_batch: int = 16
    hand_batch: int = 8
    eye_rate: float = 2e-3
    hand_rate: float = 2e-3
    grounding: float = 0.45
    grounding_end: float = 0.05
    copies: float = 0.5
    points: float = 0.5
    befores: float = 0.1
    says: float = 3.0
    flags: float = 0.5
    glances: float = 0.2
    echoes: float = 0.3
    forgets: float = 0.05
    seed: int = 0
    processes: int = 2
    keep_at: tuple[float, ...] = ()


def run(recipe: Recipe, train: Path, check: Path, out: Path) -> None:
    """Train into `out`; what is done already is not done again."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "start" / "config.json").exists():
        corpus = Corpus(train)
        texts = [r.goal for r in corpus.recordings]
        texts += [" " + s.thought for r in corpus.recordings for s in r.steps]
        texts += [str(s.action["text"]) for r in corpus.recordings for s in r.steps if "text" in s.action]
        texts += [" " + e.label for seen in corpus.looks for e in seen.elements]
        tok = vocabulary_from(texts, (w[0] for seen in corpus.looks for w in seen.words))
        model = new_model(tok, recipe.shape, recipe.seed)
        write_folder(out / "start", model, tok, half=False)
        print(f"{parameters(model) / 1e6:.2f}M parameters, {len(tok)} tokens", flush=True)
    if not (out / "targets.npz").exists():
        from transformers import AutoTokenizer

        save_targets(
            out / "targets.npz", targets(Tongue(AutoTokenizer.from_pretrained(out / "start")), Corpus(train).looks)
        )
    (out / "recipe.json").write_text(json.dumps(asdict(recipe), indent=1))
    import torch.multiprocessing as mp

    if recipe.processes == 1:
        _worker(0, recipe, train, check, out)
    else:
        mp.spawn(_worker, (recipe, train, check, out), nprocs=recipe.processes)


class Team:
    """The processes of a run: averaged gradients, and one clock for all."""

    def __init__(self, rank: int, recipe: Recipe, out: Path) -> None:
        self.rank, self.size = rank, recipe.processes
        torch.set_num_threads(1)
        if self.size > 1:
            file = out / f"rendezvous.{os.getppid()}"
            dist.init_process_group(
                "gloo",
                init_method=f"file://{file.resolve()}",
                rank=rank,
                world_size=self.size,
                timeout=timedelta(minutes=30),
            )

    def average(self, weights: list[torch.nn.Parameter], spent: float) -> float:
        """Average the gradients in place; the time spent, averaged too, is the same number for all."""
        if self.size == 1:
            return spent
        grads = [w.grad if w.grad is not None else torch.zeros_like(w) for w in weights]
        flat = torch.cat([g.reshape(-1) for g in grads] + [torch.tensor([spent])])
        dist.all_reduce(flat)
        flat /= self.size
        at = 0
        for weight, grad in zip(weights, grads, strict=True):
            grad.copy_(flat[at : at + grad.numel()].view_as(grad))
            weight.grad = grad
            at += grad.numel()
        return float(flat[-1])

    def wait(self) -> None:
        if self.size > 1:
            dist.barrier()


def _worker(rank: int, recipe: Recipe, train: Path, check: Path, out: Path) -> None:
    team = Team(rank, recipe, out)
    torch.manual_seed(recipe.seed * 1000 + rank)
    random.seed(recipe.seed * 1000 + rank)  # what the losses sample
    model, tok = load_folder(out / "start")
    corpus = Corpus(train)
    tongue = Tongue(tok)
    _eyes(team, recipe, model, tongue, corpus, out)
    _embed(team, model, corpus, out / "train_screens.npy")
    checked = Corpus(check)
    _embed(team, model, checked, out / "check_screens.npy")
    _hands(team, recipe, model, tongue, corpus, checked, out)


def _eyes(team: Team, recipe: Recipe, model: Any, tongue: Tongue, corpus: Corpus, out: Path) -> None:
    done = out / "eyes.pt"
    if done.exists():
        model.load_state_dict(torch.load(done))
        return
    answers = eyes.Answers(load_targets(out / "targets.npz"))
    heads = eyes.Heads(recipe.shape.hidden)
    table = model.model.language_model.embed_tokens.weight
    weights = [*model.model.visual.parameters(), *heads.parameters(), table]
    budget = (recipe.eye_minutes, recipe.eye_steps)
    clock = Clock(team, budget, recipe.eye_rate, weights, out / "eyes.part.pt", (model, heads))
    rng = np.random.default_rng(recipe.seed * 1000 + team.rank)
    told: dict[str, list[float]] = defaultdict(list)
    order: list[int] = []
    while clock.going:
        while len(order) < recipe.eye_batch:
            order += rng.permutation(len(corpus)).tolist()
        rows = np.array([order.pop() for _ in range(recipe.eye_batch)])
        seen = fast.see(model, corpus.images(rows.tolist()))
        loss, facts = eyes.loss(seen, table, heads, answers, rows)
        clock.step(loss)
        for name, value in ({"loss": loss.item()} | facts).items():
            told[name].append(value)
        clock.tell("eyes", told, recipe.eye_batch)
    if team.rank == 0:
        torch.save(model.state_dict(), done)
    clock.finish()
    team.wait()


KEEP_EVERY: Final = 120.0
"""Seconds between the saves from which an interrupted stage goes on."""


WARM: Final = 50
"""Steps in which the rate rises, at the beginning and when an interrupted stage goes on."""


class Clock:
    """Steps under a budget: rate, clipping, averaging, progress. `modules` are kept in `part` now and then, and gone on from where it exists."""

    def __init__(
        self,
        team: Team,
        budget: tuple[float, int | None],
        rate: float,
        weights: list[Any],
        part: Path,
        modules: Sequence[torch.nn.Module],
    ) -> None:
        self.team, self.rate, self.weights, self.part, self.modules = team, rate, weights, part, modules
        self.seconds, self.most = budget[0] * 60, budget[1]
        self.optimiser = torch.optim.AdamW(weights, rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
        self.spent, self.steps, self.since = 0.0, 0, 0
        if part.exists():
            kept = torch.load(part)
            for module, state in zip(modules, kept["modules"], strict=True):
                module.load_state_dict(state)
            self.optimiser.load_state_dict(kept["optimiser"])
            self.spent, self.steps = kept["spent"], kept["steps"]
        self.began = time.monotonic() - self.spent
        self.last_told = self.last_kept = time.monotonic()

    @property
    def going(self) -> bool:
        return self.progress < 1

    @property
    def progress(self) -> float:
        return self.spent / self.seconds if self.most is None else self.steps / self.most

    def pause(self, seconds: float) -> None:
        """Time that does not count."""
        self.began += seconds

    def step(self, loss: Tensor) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate * eyes.cosine(self.progress) * min(1.0, (self.since + 1) / WARM)
        loss.backward()
        self.spent = self.team.average(self.weights, time.monotonic() - self.began)
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.steps += 1
        self.since += 1
        if self.team.rank == 0 and time.monotonic() - self.last_kept > KEEP_EVERY:
            self._keep()

    def _keep(self) -> None:
        self.last_kept = time.monotonic()
        fresh = self.part.with_suffix(".new")
        states = [module.state_dict() for module in self.modules]
        torch.save(
            {"modules": states, "optimiser": self.optimiser.state_dict(), "spent": self.spent, "steps": self.steps},
            fresh,
        )
        fresh.replace(self.part)

    def finish(self) -> None:
        if self.team.rank == 0:
            self.part.unlink(missing_ok=True)

    def tell(self, what: str, told: dict[str, list[float]], size: int, every: float = 30.0) -> None:
        if self.team.rank or time.monotonic() - self.last_told < every:
            return
        self.last_told = time.monotonic()
        words = " ".join(f"{name} {np.mean(values[-100:]):.3f}" for name, values in told.items())
        rate = self.steps * size * self.team.size / max(1e-6, self.spent)
        left = self.spent / max(1e-6, self.progress) - self.spent
        print(
            f"{what} {self.spent / 60:.1f} min, step {self.steps}, {rate:.0f} rows/s, {left / 60:.1f} min left: {words}",
            flush=True,
        )


def _embed(team: Team, model: Any, corpus: Corpus, file: Path) -> None:
    if not file.exists():
        count, size = len(corpus), team.size
        begin, stop = count * team.rank // size, count * (team.rank + 1) // size
        part = eyes.embed_all(model, lambda rows: corpus.images(begin + r for r in rows), stop - begin)
        np.save(file.with_suffix(f".{team.rank}.npy"), part)
        team.wait()
        if team.rank == 0:
            parts = [np.load(file.with_suffix(f".{rank}.npy")) for rank in range(size)]
            np.save(file, np.concatenate(parts))
            for rank in range(size):
                file.with_suffix(f".{rank}.npy").unlink()
    team.wait()


def _rows(tongue: Tongue, corpus: Corpus, recipe: Recipe, rng: random.Random, clock: Clock) -> Iterator[list[Row]]:
    """Batches without end: steps in random order, like lengths together; some batches of grounding, fewer as time goes by."""
    numbers = corpus.number
    steps = [(r, i) for r in corpus.recordings for i, s in enumerate(r.steps) if s.gold]
    steps += [(r, 0) for r in corpus.recordings if r.steps[0].gold]  # all else hangs on the first step
    rare = ("type", "answer", "wait")
    steps += [(r, i) for r in corpus.recordings for i, s in enumerate(r.steps) if s.gold and s.action["action"] in rare]
    order: list[tuple[Recording, int]] = []
    many = 16
    while True:
        while len(order) < recipe.hand_batch * many:
            fresh = steps[:]
            rng.shuffle(fresh)
            order += fresh
        taken = [order.pop() for _ in range(recipe.hand_batch * many)]
        rows = [
            step_row(
                tongue, r, i, numbers[r.steps[i].screen], corpus.looks[numbers[r.steps[i].screen]], rng, recipe.forgets
            )
            for r, i in taken
        ]
        rows.sort(key=lambda row: len(row.ids))
        batches = [rows[i : i + recipe.hand_batch] for i in range(0, len(rows), recipe.hand_batch)]
        rng.shuffle(batches)
        for batch in batches:
            share = recipe.grounding + (recipe.grounding_end - recipe.grounding) * min(1.0, clock.progress / 0.4)
            while rng.random() < share:
                screens = [rng.randrange(len(corpus)) for _ in range(recipe.hand_batch)]
                found = [grounding_row(tongue, corpus.looks[n], n, rng) for n in screens]
                yield [row for row in found if row is not None]
            yield batch


def lesson_loss(
    model: Any, tongue: Tongue, rows: list[Row], screens: Tensor, recipe: Recipe, flags: Any = None
) -> tuple[Tensor, dict[str, float]]:
    given = fast.batch([row.ids for row in rows], tongue.image, tongue.pad)
    places = [[at - 1 for at, wanted in enumerate(row.taught) if wanted] for row in rows]
    longest = max(len(p) for p in places)
    needed = torch.tensor([p + [0] * (longest - len(p)) for p in places])
    real = torch.tensor([[True] * len(p) + [False] * (longest - len(p)) for p in places])
    thought = fast.think(model, given, screens, tongue.image, needed)
    logits = fast.logits(model, thought.hidden[real])
    wanted = given.ids.gather(1, needed + 1)[real]
    ce = F.cross_entropy(logits, wanted)
    right = logits.argmax(-1) == wanted
    owner = real.nonzero()[:, 0]
    wrong = torch.zeros(len(rows)).index_add_(0, owner, (~right).float())
    ground = rows[0].kind == "find"
    facts = {
        ("find" if ground else "ce"): ce.item(),
        ("found" if ground else "rows"): (wrong == 0).float().mean().item(),
    }
    total = recipe.says * ce
    layer = len(thought.keys) - 2
    if recipe.points and (points := [(i, q, box) for i, row in enumerate(rows) for q, box in row.points]):
        row_at, query_at = torch.tensor([p[0] for p in points]), torch.tensor([p[1] for p in points])
        cells = torch.from_numpy(np.stack([cells_of(p[2]) for p in points]))
        log_p = _attention(thought, layer, 0, row_at, query_at)
        columns = given.begins[row_at][:, None] + torch.arange(fast.CELLS)
        picked = log_p.gather(1, columns).masked_fill(~cells, -torch.inf)
        some = cells.any(-1)
        mass = picked[some].logsumexp(-1).clamp_min(-12)
        total = total - recipe.points * mass.mean()
        facts["point"] = mass.exp().mean().item()
    boxes = [(i, q, row.points[0][1]) for i, row in enumerate(rows) for q in row.glances if row.points]
    if flags is not None and boxes and recipe.flags:
        row_at, query_at = torch.tensor([b[0] for b in boxes]), torch.tensor([b[1] for b in boxes])
        cells = torch.from_numpy(np.stack([cells_of(b[2]) for b in boxes]))
        columns = given.begins[row_at][:, None] + torch.arange(fast.CELLS)
        some = cells.any(-1)
        log_p = _attention(thought, layer + 1, 0, row_at, query_at).gather(1, columns)
        mass = log_p.masked_fill(~cells, -torch.inf)[some].logsumexp(-1).clamp_min(-12)
        total = total - recipe.glances * mass.mean()
        facts["glance"] = mass.exp().mean().item()
        first = torch.tensor([at == 0 or boxes[at][0] != boxes[at - 1][0] for at in range(len(boxes))]) & some
        state = thought.states[layer][row_at[first][:, None], columns[first]]
        log_p = flags(F.rms_norm(state, (state.shape[-1],)))[..., 0].log_softmax(-1)
        mass = log_p.masked_fill(~cells[first], -torch.inf).logsumexp(-1)
        total = total - recipe.flags * mass.mean()
        facts["flag"] = mass.exp().mean().item()
    for name, weight, depth, head in (("copies", recipe.copies, layer, 1), ("befores", recipe.befores, 0, 0)):
        pairs = [(i, q, k) for i, row in enumerate(rows) for q, k in getattr(row, name)]
        if weight and pairs:
            if len(pairs) > 400:
                pairs = random.sample(pairs, 400)
            row_at, query_at, key_at = (torch.tensor(column) for column in zip(*pairs, strict=True))
            mass = _attention(thought, depth, head, row_at, query_at).gather(1, key_at[:, None])[:, 0].clamp_min(-12)
            total = total - weight * mass.mean()
            facts[name] = mass.exp().mean().item()
    if recipe.echoes and not ground:
        total = total + recipe.echoes * _echoes(model, thought, given, rows, boxes, layer, facts)
    return total, facts


def _echoes(
    model: Any,
    thought: fast.Thinking,
    given: fast.Batch,
    rows: list[Row],
    boxes: list[tuple[int, int, tuple[int, int, int, int]]],
    layer: int,
    facts: dict[str, float],
) -> Tensor:
    """What the heads that copy and look hand on says, by itself, what they look at: a word of the goal or the history its own token, a cell of the touched thing
    a word of its label. So copying is learnt for all words at once, and not anew for each."""
    pairs = [(i, k) for i, row in enumerate(rows) for _, k in row.befores]
    pairs = random.sample(pairs, min(len(pairs), 120))
    row_at, key_at = (torch.tensor(column) for column in zip(*pairs, strict=True))
    logits = _handed_on(model, thought, layer, 1, row_at, key_at)
    wanted = given.ids[row_at, key_at]
    total = F.cross_entropy(logits, wanted)
    facts["echo"] = (logits.argmax(-1) == wanted).float().mean().item()
    seen = []
    for i, query, box in boxes:
        cells = np.flatnonzero(cells_of(box))
        seen += [(i, int(given.begins[i]) + int(cell), rows[i].ids[query + 1]) for cell in cells[:3]]
    if seen:
        seen = random.sample(seen, min(len(seen), 60))
        row_at, key_at, wanted = (torch.tensor(column) for column in zip(*seen, strict=True))
        logits = _handed_on(model, thought, layer + 1, 0, row_at, key_at)
        total = total + 0.5 * F.cross_entropy(logits, wanted)
        facts["read"] = (logits.argmax(-1) == wanted).float().mean().item()
    return total


def _handed_on(model: Any, thought: fast.Thinking, layer: int, head: int, rows: Tensor, keys: Tensor) -> Tensor:
    """The logits of what one head passes on of some positions, were it all that there is."""
    text = model.model.language_model
    value = thought.values[layer][rows, head, keys]
    width = value.shape[-1]
    out = value @ text.layers[layer].self_attn.o_proj.weight[:, head * width : (head + 1) * width].T
    return fast.logits(model, F.rms_norm(out, (out.shape[-1],)) * text.norm.weight)


def _attention(thought: fast.Thinking, layer: int, head: int, rows: Tensor, queries: Tensor) -> Tensor:
    """Log of the attention that some positions pay in one head: [positions, keys]."""
    q = thought.queries[layer][rows, head, queries]
    k = thought.keys[layer][:, head][rows]
    scores = torch.einsum("pw,pmw->pm", q, k) / q.shape[-1] ** 0.5
    later = torch.arange(k.shape[1])[None] > queries[:, None]
    return scores.masked_fill(later, -torch.inf).log_softmax(-1)


def _hands(team: Team, recipe: Recipe, model: Any, tongue: Tongue, corpus: Corpus, checked: Corpus, out: Path) -> None:
    for weight in model.model.visual.parameters():
        weight.requires_grad_(False)
    near_each_other(model, tongue.tok)
    screens = np.load(out / "train_screens.npy", mmap_mode="r")
    flags = torch.nn.Linear(recipe.shape.hidden, 1)
    weights = [*(w for w in model.parameters() if w.requires_grad), *flags.parameters()]
    budget = (recipe.hand_minutes, recipe.hand_steps)
    clock = Clock(team, budget, recipe.hand_rate, weights, out / "hands.part.pt", (model, flags))
    rng = random.Random(recipe.seed * 1000 + team.rank)
    batches = _rows(tongue, corpus, recipe, rng, clock)
    told: dict[str, list[float]] = defaultdict(list)
    checks = iter([share for share in recipe.keep_at if share > clock.progress] + [2.0])
    due = next(checks)
    while clock.going:
        rows = next(batches)
        seen = torch.from_numpy(screens[[row.screen for row in rows]].astype(np.float32))
        loss, facts = lesson_loss(model, tongue, rows, seen, recipe, flags)
        clock.step(loss)
        for name, value in facts.items():
            told[name].append(value)
        clock.tell("hands", told, recipe.hand_batch)
        if clock.progress >= due:
            began = time.monotonic()
            if team.rank == 0:
                check(model, tongue, checked, out, f"{due:.2f}")
                write_folder(out / f"at_{due:.2f}", model, tongue.tok)
            team.wait()
            due = next(checks)
            clock.pause(time.monotonic() - began)
    if team.rank == 0:
        write_folder(out / "final", model, tongue.tok)
        check(model, tongue, checked, out, "final")
    clock.finish()
    team.wait()


def check(model: Any, tongue: Tongue, checked: Corpus, out: Path, name: str) -> None:
    """Measure on the split for choosing, and say where it fails."""
    player = Player(model, tongue, np.load(out / "check_screens.npy", mmap_mode="r"))
    tasks = [trajectory(r, checked.number) for r in checked.recordings]
    began = time.monotonic()
    played = sop(player, tasks)
    _, shares = static(player, tasks)
    facts = {"at": name, "seconds": round(time.monotonic() - began, 1)} | {"sop": played.summary(), "static": shares}
    print(json.dumps(facts), flush=True)
    with (out / "checks.jsonl").open("a") as file:
        file.write(json.dumps(facts | {"errors": played.errors}, ensure_ascii=False) + "\n")
