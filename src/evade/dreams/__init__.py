"""The world model as an environment, and how far its dreams can be trusted."""
