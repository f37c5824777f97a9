"""The runner's side: one process per peer, asked over a pipe; a peer that hangs or dies is started anew."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from typing import Any

import measure


class Failure(Exception):
    """A peer did not give an answer; `absent` if it said so itself."""

    def __init__(self, message: str, absent: bool = False, details: str = "") -> None:
        super().__init__(message)
        self.absent, self.details = absent, details


class Workers:
    """Processes by peer, started when first asked."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.context = multiprocessing.get_context("spawn")
        self.running: dict[str, tuple[Any, Connection]] = {}

    def ask(self, peer: str, *message: Any) -> Any:
        """The answer of a peer.

        Raises
        ------
        Failure
            It raised, died, or took longer than the limit.
        """
        if peer not in self.running:
            ours, theirs = self.context.Pipe()
            process = self.context.Process(target=measure.serve, args=(theirs, peer), daemon=True)
            process.start()
            theirs.close()
            self.running[peer] = process, ours
        process, connection = self.running[peer]
        try:
            connection.send(message)
            if not connection.poll(self.limit):
                self.stop(peer)
                raise Failure(f"no answer in {self.limit:.0f} s")
            kind, answer = connection.recv()
        except (EOFError, ConnectionError):
            process.join(5)
            code = process.exitcode
            self.stop(peer)
            raise Failure(f"the process died (exit code {code})") from None
        if kind == "absent":
            raise Failure(answer, absent=True)
        if kind == "failed":
            raise Failure(answer[0], details=answer[1])
        return answer

    def stop(self, peer: str) -> None:
        process, connection = self.running.pop(peer)
        connection.close()
        process.kill()
        process.join()

    def close(self) -> None:
        for peer in list(self.running):
            self.stop(peer)
