"""Whoever plays a training rollout: an endpoint or built-in policy (`endpoint`), a model in this process (`local`), verl's servers (`uis1_train.verl_ext`)."""
