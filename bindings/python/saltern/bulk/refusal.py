"""Errors that end a job with one line."""


class Refused(Exception):
    """The job cannot be done as requested. The message is one line that says what to do."""


class Superseded(Exception):
    """A range, or the job, now belongs to somebody else. The computed results are discarded."""
