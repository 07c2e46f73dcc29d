"""Figures of a run and of results, drawn without a screen and without torch."""
