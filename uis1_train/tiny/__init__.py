"""The tiny model: a Qwen2.5-VL of a few million parameters that learns on a CPU to operate PocketPhone, and the study made with it."""
