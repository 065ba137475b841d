"""The Ray actor that holds the trainer, and what starts it."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import ray

from sopbench.errors import SopbenchError, UsageError
from uis1_train.verl_ext.dataset import Recordings, specs_of
from uis1_train.verl_ext.settings import read_settings


class TrainingFailed(SopbenchError):
    """Training ended before its last step; the message holds the cause as far as it is known."""

    exit_code = 1


class SemiOnlineTaskRunner:
    """verl's task runner with our trainer: one process that asks for rollouts, computes advantages and tells the workers to learn."""

    def run(self, config: Any) -> None:
        import transfer_queue as tq
        from omegaconf import OmegaConf
        from verl.trainer.ppo.v1 import AgentLoopManagerTQ
        from verl.utils.logging_utils import configure_verl_logging

        from uis1_train.verl_ext.trainer import SemiOnlineTrainer

        configure_verl_logging()
        logging.getLogger("uis1_train").setLevel(logging.INFO)
        config.transfer_queue.enable = True
        OmegaConf.resolve(config)
        tq.init(config.transfer_queue)
        trainer = None
        complete = False
        try:
            trainer = SemiOnlineTrainer(config=config)
            trainer.init()
            rollouts = AgentLoopManagerTQ.create(
                config=config,
                llm_client=trainer.get_llm_client(),
                teacher_client=trainer.get_teacher_client(),
                reward_loop_worker_handles=trainer.get_reward_handles(),
            )
            trainer.fit(rollouts)
            complete = True
        finally:
            tracking = getattr(trainer, "logger", None)
            if tracking is not None:
                tracking.finish(exit_code=0 if complete else 1)
            tq.close()


def prepare(config: Any) -> None:
    """Check what can be checked before Ray is started, and fill in what follows. Raises `UsageError` or `DataError`."""
    settings = read_settings(config)
    config.uis1.prompt_sha256 = settings.the_adapter.prompt_source().sha256
    recordings = Recordings(specs_of(config.data.train_files), settings)
    goals, batch = len(recordings.rows()), int(config.data.train_batch_size)
    if goals < batch:
        raise UsageError(
            f"{', '.join(recordings.specs)}: {goals} goals are fewer than data.train_batch_size={batch}, so that an epoch would have no step"
        )
    Path(config.trainer.default_local_dir).mkdir(parents=True, exist_ok=True)


def run(config: Any) -> None:
    """Train to the end (resuming where `trainer.resume_mode` finds a checkpoint). A Ray that is already running is joined, else one is started here.

    Raises `UsageError` and `DataError` before anything is started, `TrainingFailed` after.
    """
    from verl.trainer.main_ppo import run_ppo
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    prepare(config)
    try:
        validate_config(config, need_reference_policy(config), need_critic(config))
    except (AssertionError, ValueError) as error:
        raise UsageError(f"verl refuses the configuration: {error}") from error
    try:
        run_ppo(config, task_runner_class=ray.remote(SemiOnlineTaskRunner))
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, SopbenchError):
            raise TrainingFailed(str(cause)) from error
        raise TrainingFailed(
            f"{type(cause).__name__}: {cause}. The whole trace is in the log above, and in Ray's session folder"
        ) from error
