"""The runner's side: one process per peer, asked over a pipe; a peer that hangs or dies is started anew."""

from __future__ import annotations

import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import by_dace

WORKER = Path(__file__).with_name("worker.py")
INTERPRETERS = {"dace": by_dace.PYTHON}
"""Of peers that need another than the runner's."""


class Failure(Exception):
    """A peer did not give an answer; `absent` if it said so itself."""

    def __init__(self, message: str, absent: bool = False, details: str = "") -> None:
        super().__init__(message)
        self.absent, self.details = absent, details


class Workers:
    """Processes by peer, started when first asked."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.running: dict[str, tuple[subprocess.Popen, Connection]] = {}

    def ask(self, peer: str, *message: Any) -> Any:
        """The answer of a peer.

        Raises
        ------
        Failure
            It raised, died, or took longer than the limit.
        """
        if peer not in self.running:
            self.running[peer] = self.start(peer)
        _, connection = self.running[peer]
        try:
            connection.send(message)
            if not connection.poll(self.limit):
                self.stop(peer)
                raise Failure(f"no answer in {self.limit:.0f} s")
            kind, answer = connection.recv()
        except (EOFError, ConnectionError):
            code = self.stop(peer, wait=5)
            raise Failure(f"the process died (exit code {code})") from None
        if kind == "absent":
            raise Failure(answer, absent=True)
        if kind == "failed":
            raise Failure(answer[0], details=answer[1])
        return answer

    def start(self, peer: str) -> tuple[subprocess.Popen, Connection]:
        """A process that ends when our side of the pipe is closed."""
        python = INTERPRETERS.get(peer, Path(sys.executable))
        if not python.exists():
            raise Failure(f"{peer} is not installed", absent=True)
        ours, theirs = Pipe()
        fd = theirs.fileno()
        process = subprocess.Popen([str(python), str(WORKER), str(fd), peer], pass_fds=[fd])
        theirs.close()
        return process, ours

    def stop(self, peer: str, wait: float = 0.0) -> int:
        """End a process, which is given seconds to end by itself; its exit code."""
        process, connection = self.running.pop(peer)
        connection.close()
        try:
            return process.wait(wait)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def close(self) -> None:
        for peer in list(self.running):
            self.stop(peer)
