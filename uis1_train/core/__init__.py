"""The learning signal: pure functions on arrays. No torch, no Ray, no verl, no I/O."""
