"""``python -m saltern.bulk``."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence

from saltern.bulk.arguments import Options, parse
from saltern.bulk.refusal import Refused
from saltern.bulk.report import say
from saltern.bulk.site import open_site, refuse_for


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit status."""
    options = parse(arguments)
    try:
        return _run(options)
    except Refused as refused:
        for problem in refused.args:
            say(problem)
        return 2
    except ImportError as error:
        say(f"{error}: pip install 'saltern[bulk]'")
        return 2
    except KeyboardInterrupt:
        say("ended by SIGINT")
        return 130
    except BaseException as error:
        # Panics of the compiled half are no `Exception`. Their text may hold a row: leave it out.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename}, line {frame.lineno}"
        say(f"{type(error).__name__} in {where}: this is a defect. The same command goes on")
        return 2


def _run(options: Options) -> int:
    site = open_site(options.policy)
    refuse_for(site, options.operation)
    for note in site.hasher.notes:
        say(note)
    # Each needs libraries that the other one does not need.
    if options.parquet is not None:
        from saltern.bulk import parquet

        return parquet.run(options, site, options.parquet)
    from saltern.bulk import job

    return job.run(options, site)


if __name__ == "__main__":
    sys.exit(main())
