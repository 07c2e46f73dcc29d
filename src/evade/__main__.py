"""`python -m evade` is the `evade` command."""

from evade.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
