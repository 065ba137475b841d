"""An OpenAI-compatible server of a small vision-language model, on aiohttp and transformers: for trying sopbench against real HTTP, not for production."""
