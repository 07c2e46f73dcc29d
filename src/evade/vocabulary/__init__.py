"""The names that settings, logs, tables and figures share: a list of variants, of phases, of metrics. No torch here."""
