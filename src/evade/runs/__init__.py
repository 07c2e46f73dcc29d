"""A run's life on disk. Only `checkpoint` needs torch; what merely looks at runs imports the other files."""
