"""The `evade` command: one file for each verb, which parses, calls and prints."""
