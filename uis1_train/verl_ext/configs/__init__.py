"""Hydra configurations, found as `pkg://uis1_train.verl_ext.configs`."""
