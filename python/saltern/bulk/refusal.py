"""What ends a job with one line."""


class Refused(Exception):
    """The job cannot be done as it was asked for. Its text is one line that says what to do."""


class Superseded(Exception):
    """A range, or the job, belongs to somebody else by now. What was computed is thrown away."""
