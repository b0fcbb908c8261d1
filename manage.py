#!/usr/bin/env python
"""Command line of Routewarden: `manage.py help` lists what it can do."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Run a management command; a broken environment is one clear sentence, not a traceback."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        own = Path(__file__).resolve().parent / ".venv" / "bin" / "python"
        hint = f"run it by {own}" if own.exists() else "run `make demo` or `make up` once"
        sys.exit(f"Routewarden's packages are not installed for {sys.executable}: {hint}.")

    from django.core.exceptions import ImproperlyConfigured
    from django.db.utils import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except OperationalError as error:
        sys.exit(
            f"Database: {str(error).strip().splitlines()[0]} (see DATABASE_URL; `manage.py migrate` makes the tables)"
        )


if __name__ == "__main__":
    main()
