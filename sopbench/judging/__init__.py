"""A VLM that decides whether a task was carried out, where the environment cannot: its words, its verdicts, and how far it agrees with labels."""
