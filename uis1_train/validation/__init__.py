"""The harness as the trainer's judge: ordinary sopbench runs of the current weights, the best checkpoint, and a watcher for other machines."""
