"""The names that settings, logs, tables and figures share: one list of variants, of phases, of metrics. No torch here."""
