"""Dreams: the world model as an environment, and a comparison of dreams with the game."""
