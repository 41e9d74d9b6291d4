"""``python -m saltern.bulk``."""

import sys
from collections.abc import Sequence

from saltern.bulk.arguments import parse
from saltern.bulk.refusal import Refused
from saltern.bulk.report import say


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program: its exit status."""
    options = parse(arguments)
    try:
        from saltern.bulk import job
    except ImportError as error:
        say(f"{error}: pip install 'saltern[bulk]'")
        return 2
    try:
        return job.run(options)
    except Refused as refused:
        say(str(refused))
        return 2
    except KeyboardInterrupt:
        say("ended by SIGINT")
        return 130


if __name__ == "__main__":
    sys.exit(main())
