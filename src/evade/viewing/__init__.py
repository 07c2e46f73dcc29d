"""What people look at: the live display, pictures, videos, and the end of a run."""
