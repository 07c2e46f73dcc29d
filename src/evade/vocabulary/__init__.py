"""The names that settings, logs, tables and figures share, one list for each: variants, phases, metrics. No torch here."""
