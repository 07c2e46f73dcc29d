"""Scores, statistics, published data, tables, figures and reports. No torch here."""
