"""Semi-online RL on stock verl 0.9.1, subclassed and never forked.

compose.py        a configuration by name, with overrides, without a GPU
settings.py       the `uis1:` node of a configuration, checked
dataset.py        recordings as verl's data set: `path@N` subsets, screens by path
agent_loop.py     one rollout: `session.play_rollout` against verl's rollout servers, one sample a step
replay_buffer.py  which groups are learned from: the filter, refill, and their bound
signal.py         from the samples' rows to advantages, rewards and metrics, through `uis1_train.core`
splitting.py      mini-batches and padding
trainer.py        verl's synchronous trainer with our advantages and the harness as its judge
task_runner.py    the process that holds the trainer; starts a run
hook.py           what verl imports by name in every process
sft.py            expert steps for verl's own SFT trainer, and its start
patches_to_verl.py  the one module where stock code is changed, each with its reason
configs/          uis1_7b and its relatives
"""
