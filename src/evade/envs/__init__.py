"""Games: everything between a real environment and the observation an agent sees."""
