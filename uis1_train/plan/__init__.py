"""What a training run would do, worked out before a GPU is touched: settings, batches, tokens, memory, files."""
