"""Public data sets: where they are, how to get them whole, and how their published files become trajectories and screens."""
