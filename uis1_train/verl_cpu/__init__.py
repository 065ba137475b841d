"""What lets stock verl 0.9.1 run on a machine without a GPU: tests, CI and smoke runs. Nothing here is meant for real training.

Named in `VERL_USE_EXTERNAL_MODULES`, `uis1_train.verl_cpu.plugin` registers a platform (`platform.py`) and a rollout backend that answers with
transformers (`rollout.py`), and lends verl the few changes that a CPU needs.
"""
