"""End to end against a real VLM server: `make e2e`. See README.md beside this file."""
