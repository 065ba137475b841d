"""The whole recipe, SFT then semi-online RL, in one process: plain torch on a CPU or one GPU, the same core and session as the verl path."""
