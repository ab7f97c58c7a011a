"""The connection to the runner: JSON lines on a loopback socket."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import threading
from typing import Any, Dict


class Channel:
    """Sends from any thread; received messages queue up for the main thread."""

    def __init__(self, address: str, token: str) -> None:
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._lock = threading.Lock()
        self.messages: "queue.SimpleQueue[Dict[str, Any]]" = queue.SimpleQueue()
        self._pid = os.getpid()
        self.send({"type": "hello", "token": token})
        threading.Thread(target=self._receive, name="agent-trainer-channel", daemon=True).start()

    def send(self, message: Dict[str, Any]) -> None:
        if os.getpid() != self._pid:
            return  # a fork of the worker shares the socket; two writers would mix their lines
        line = json.dumps(message, allow_nan=False).encode() + b"\n"
        with self._lock:
            self._socket.sendall(line)

    def _receive(self) -> None:
        try:
            with self._socket.makefile("rb") as lines:
                for line in lines:
                    self.messages.put(json.loads(line))
        except (OSError, ValueError):
            pass  # the runner is gone or cut off in mid-line: the same as a closed connection
        leave_with_children()


def leave_with_children() -> None:
    """Ends this process and what the agent started: without the runner nothing may stay behind."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)
