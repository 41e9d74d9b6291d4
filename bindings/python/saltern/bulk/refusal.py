"""Errors that end a job with a line for each."""


class Refused(Exception):
    """The job cannot be done as requested. Each argument is a line that says what to do."""

    def __str__(self) -> str:
        return "; ".join(map(str, self.args))


class Superseded(Exception):
    """A range, or the job, now belongs to somebody else. The computed results are discarded."""
