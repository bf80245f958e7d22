"""Errors that a person can act on: each says what is wrong, where, and how to mend it."""

from __future__ import annotations


class BayplanError(Exception):
    """Base of every error that the program raises on purpose. ``exit_code`` is what the CLI returns."""

    exit_code = 3


class UsageError(BayplanError):
    """The command line, a setting or a policy is wrong."""

    exit_code = 2


class InputError(BayplanError):
    """Input that cannot be read as what it claims to be.

    ``where`` names the object and the path inside it, ``mend`` says what would be right.
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        self.what, self.where, self.mend = what, where, mend
        text = f"{where}: {what}" if where else what
        super().__init__(f"{text}; {mend}" if mend else text)


class QuantityError(InputError):
    """Text that Kubernetes' quantity grammar refuses."""


class EnvironmentProblem(BayplanError):
    """Something outside the program is missing or broken (a file, a server, a tool)."""
