"""Real experience: recorded, stored on disk in chunks, sampled."""
