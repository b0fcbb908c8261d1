"""Run a command that does not outlive its parent: `python leash.py PARENT_PID SIGNAL UID:GID|- COMMAND...`.

A program of its own instead of `preexec_fn`, which is unsafe in a process with threads. It runs isolated
(`-I -S`), so it may import nothing of the project. Linux signals the child when the *thread* that
started it ends; elsewhere nothing does, and whoever started the command must stop it.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def leashed(
    command: Sequence[str],
    *,
    death_signal: signal.Signals = signal.SIGTERM,
    owner: tuple[int, int] | None = None,
) -> list[str]:
    """The command line that runs `command` on a leash held by this process, as user and group `owner` if given."""
    uid_gid = "-" if owner is None else f"{owner[0]}:{owner[1]}"
    return [
        sys.executable,
        "-I",
        "-S",
        __file__,
        str(os.getpid()),
        str(death_signal.value),
        uid_gid,
        *command,
    ]


def main(arguments: Sequence[str]) -> None:
    """Give up rights, ask for the signal, become the command. Order matters: a change of user drops the signal."""
    parent, death_signal, owner, *command = arguments
    if owner != "-":
        uid, gid = map(int, owner.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != int(parent):  # it died before we asked
            sys.exit(1)
    try:
        os.execvp(command[0], command)  # noqa: S606  no shell is meant
    except OSError as error:
        sys.exit(f"{command[0]} cannot be run: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
