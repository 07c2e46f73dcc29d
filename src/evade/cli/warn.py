"""How a command says what a person should know although it goes on."""

import sys


def warn(message: str) -> None:
    """Print a message to standard error, with the characters that would control a terminal made visible."""
    print(f"evade: {visible(message)}", file=sys.stderr)


def visible(text: str) -> str:
    """The text with its unprintable characters, such as those that control a terminal, written as escapes."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
