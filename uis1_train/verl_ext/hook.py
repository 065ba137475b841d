"""Imported by name in every process of a run (`actor_rollout_ref.model.external_lib`): importing it is how verl asks for it.

verl does so while it reads the model's configuration, that is before it looks for an agent loop and before a model computes anything.
"""

from uis1_train.verl_ext.patches_to_verl import apply_patches, name_agent_loop

apply_patches()
name_agent_loop()
