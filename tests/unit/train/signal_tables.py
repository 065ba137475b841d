"""One group of three rollouts of a goal with four steps, every number worked out by hand. `docs/training-signal.md` tells the same example.

Reward `paper`, gamma 0.5, patch threshold 1. Step rewards are 1.0 (match), 0.5 (right type), 0.1 (readable, wrong type):

* rollout 0: match, match, match, match
* rollout 1: match, right type (patched), match, wrong type (no patch left: over)
* rollout 2: wrong type (patched), match, right type (no patch left: over)
"""

GOALS = ["g"] * 11
ROLLOUTS = [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
STEPS = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2]
MATCHES = [True, True, True, True, True, False, True, False, False, True, False]
REWARDS = [1.0, 1.0, 1.0, 1.0, 1.0, 0.5, 1.0, 0.1, 0.1, 1.0, 0.5]

RETURNS = {
    # R_3 = 1, R_2 = 1 + 0.5, R_1 = 1 + 0.75, R_0 = 1 + 0.875
    # rollout 1: the segment {0, 1} ends with the mismatch: R_0 = 1 + 0.5 * 0.5; {2, 3}: R_2 = 1 + 0.5 * 0.1
    # rollout 2: {0}, and {1, 2}: R_1 = 1 + 0.5 * 0.5
    "paper": [1.875, 1.75, 1.5, 1.0, 1.25, 0.5, 1.05, 0.1, 0.1, 1.25, 0.5],
    # a mismatch stands alone, so nothing before it hears of it
    "released": [1.875, 1.75, 1.5, 1.0, 1.0, 0.5, 1.0, 0.1, 0.1, 1.0, 0.5],
    # rollout 1: R_2 = 1.05, R_1 = 0.5 + 0.525, R_0 = 1 + 0.5125; rollout 2: R_1 = 1.25, R_0 = 0.1 + 0.625
    "whole": [1.875, 1.75, 1.5, 1.0, 1.5125, 1.025, 1.05, 0.1, 0.725, 1.25, 0.5],
}

# Returns (paper) by step: {1.875, 1.25, 0.1}, {1.75, 0.5, 1.25}, {1.5, 1.05, 0.5}, {1.0, 0.1}; means 1.075, 3.5/3, 3.05/3, 0.55
STEP_ADVANTAGES = [
    0.8,
    1.75 - 3.5 / 3,
    1.5 - 3.05 / 3,
    0.45,
    0.175,
    0.5 - 3.5 / 3,
    1.05 - 3.05 / 3,
    -0.45,
    -0.975,
    1.25 - 3.5 / 3,
    0.5 - 3.05 / 3,
]
# Rollouts earn 4.0, 2.6 and 1.6; the mean is 8.2 / 3
EPISODE_ADVANTAGES = [4.0 - 8.2 / 3] * 4 + [2.6 - 8.2 / 3] * 4 + [1.6 - 8.2 / 3] * 3
# All eleven rows together earn 8.2; the mean row 8.2 / 11
EPISODE_ADVANTAGES_OVER_ROWS = [r - 8.2 / 11 for r in REWARDS]
