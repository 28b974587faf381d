"""The tests with other versions of Python and of libraries: ``nox``, or ``nox --session lowest``.

Interpreters that this machine does not have are skipped and named.
"""

from __future__ import annotations

import nox

nox.options.sessions = ["tests", "lowest", "without_posix"]
nox.options.error_on_missing_interpreters = False

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
QUICK = ("-q", "-m", "not slow")


@nox.session(python=VERSIONS)
def tests(session: nox.Session) -> None:
    """The quick tests with the newest libraries; arguments go to pytest."""
    session.install("-e", ".[test]")
    session.run("pytest", *QUICK, *(session.posargs or ["-n", "2"]))


@nox.session(python=VERSIONS[0], venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """The same with the lowest versions that the distributions say they work with."""
    session.install("--resolution", "lowest-direct", "-e", ".[test]")
    session.run("pytest", *QUICK, *(session.posargs or ["-n", "2", "packages"]))


@nox.session(python=VERSIONS[0])
def without_posix(session: nox.Session) -> None:
    """The tests of ``voile`` without what only POSIX systems have."""
    session.install("-e", ".[test]")
    arguments = session.posargs or ["-n", "2", "packages/voile"]
    session.run("pytest", *QUICK, "-p", "voile_testing.without_posix", *arguments)
