"""From a sharded checkpoint to a folder that transformers loads and vLLM serves, and the checks that it is the same model."""
