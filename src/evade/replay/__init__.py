"""Real experience: recorded, kept on disk in chunks, sampled."""
