"""How fast a model in this process plays and learns: replies, tokens and rollouts a second of processor time.

    python tests/benchmarks/bench_local_policy.py [MODEL] [--adapter tiny] [--rollouts 64] [--threads 1]

Without MODEL a random one of 1.5 million parameters is made (Qwen2.5-VL, 84 tokens a screen). Rollouts go on past every mismatch (epsilon inf), so that each has
as many steps as its recording. Figures are per second of the process's own processor time: other work on the machine hardly moves them.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path


def main() -> None:
    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--adapter", default="tiny")
    parser.add_argument("--suite", default="pocket")
    parser.add_argument("--rollouts", type=int, default=64)
    parser.add_argument("--max-reply", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    with tempfile.TemporaryDirectory() as folder:
        measure(options, options.model or random_model(Path(folder)))


def random_model(folder: Path) -> Path:
    import sys

    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.train.models import make_tiny_vl

    return make_tiny_vl(folder / "model", hidden=128, layers=4, image_tokens=96)


def measure(options: argparse.Namespace, folder: Path) -> None:
    from sopbench.adapters import get_adapter
    from sopbench.scoring import get_profile
    from sopbench.suites import get_suite
    from sopbench.suites.base import DataSource
    from uis1_train.embedded.config import LearnerSettings
    from uis1_train.embedded.decoding import Decoder
    from uis1_train.embedded.featurize import Featurizer
    from uis1_train.embedded.learner import Learner
    from uis1_train.embedded.model import load_model
    from uis1_train.embedded.rl import policy_row
    from uis1_train.policies.local import LocalPolicy
    from uis1_train.session import GroupItem, Rollout, RolloutConfig, play_groups

    model = load_model(folder, device="cpu")
    featurizer = Featurizer(model, max_prompt=4096)
    policy = LocalPolicy(Decoder(model, featurizer), max_tokens=options.max_reply)
    config = RolloutConfig(get_profile("strict"), get_adapter(options.adapter), images=1, patches=float("inf"))
    goals = options.rollouts // 8
    items = [GroupItem(t.id, t) for t in get_suite(options.suite).load(DataSource(), goals).trajectories]

    async def played() -> list[Rollout]:
        return [r async for group in play_groups(items, policy, config, 8, concurrency=64) for r in group]

    began = time.process_time()
    rollouts = asyncio.run(played())
    seconds = time.process_time() - began
    samples = [sample for rollout in rollouts for sample in rollout.samples]
    prompt = sum(len(s.generated.prompt_ids or ()) for s in samples) / len(samples)
    print(f"{model.module.num_parameters():,} parameters, prompts of {prompt:.0f} tokens, {options.threads} thread(s)")
    print(
        f"play: {len(rollouts)} rollouts of {len(samples) / len(rollouts):.1f} steps in {seconds:.1f} s: {len(rollouts) / seconds:.1f} rollouts, "
        f"{len(samples) / seconds:.0f} replies, {policy.counts.tokens / seconds:.0f} tokens a second"
    )
    rows = [policy_row(sample, 1.0) for sample in samples[:128]]
    learner = Learner(model, featurizer, LearnerSettings(kl_coefficient=0.0))
    began = time.process_time()
    learner.improve(rows)
    seconds = time.process_time() - began
    tokens = sum(len(row.row.whole.ids) for row in rows)
    print(
        f"learn: {len(rows)} steps in {seconds:.1f} s: {len(rows) / seconds:.0f} steps, {tokens / seconds:.0f} tokens a second"
    )
    policy.shut()


if __name__ == "__main__":
    main()
