"""Semi-online reinforcement learning on stock verl, validated by sopbench.

Importing this package costs nothing: torch, Ray and verl are imported by the modules that need them, never by `core`, `patching` or `session`.
"""
