"""Which attempt and which span the running code belongs to."""

from __future__ import annotations

import os
import time
from contextvars import ContextVar
from typing import Any, Callable, Dict, List, Optional

from ._recorded import RecordedOperations

Message = Dict[str, Any]


class AttemptContext:
    """One attempt in this worker: where its spans go."""

    def __init__(self, rollout_id: str, attempt_id: str, trace_id: str, send: Callable[[Message], None], recorded: Optional[RecordedOperations] = None) -> None:
        self.rollout_id = rollout_id
        self.attempt_id = attempt_id
        self.trace_id = trace_id
        self.send = send
        self.recorded = recorded or RecordedOperations()
        self.root: Optional["ActiveSpan"] = None


class ActiveSpan:
    """A span of an attempt. `begin` tells the trainer its place in the order; `end` completes it (a moment needs no `begin`)."""

    def __init__(self, attempt: AttemptContext, parent: Optional["ActiveSpan"], name: str, attributes: Dict[str, Any]) -> None:
        self.attempt = attempt
        self.span_id = os.urandom(8).hex()
        self.parent_id = parent.span_id if parent else None
        self.name = name
        self.attributes = attributes
        self.events: List[Dict[str, Any]] = []
        self.start_time = time.time()

    def begin(self) -> "ActiveSpan":
        self._send("begin", "UNSET", None, None)
        return self

    def end(self, status: str = "OK", description: Optional[str] = None) -> None:
        self._send("end", status, description, time.time())

    def _send(self, kind: str, status: str, description: Optional[str], end_time: Optional[float]) -> None:
        self.attempt.send({"type": kind, "span": {
            "rollout_id": self.attempt.rollout_id,
            "attempt_id": self.attempt.attempt_id,
            "span_id": self.span_id,
            "parent_id": self.parent_id,
            "name": self.name,
            "status": {"status_code": status, "description": description},
            "attributes": self.attributes,
            "events": self.events,
            "start_time": self.start_time,
            "end_time": end_time,
        }})

    @property
    def traceparent(self) -> str:
        return f"00-{self.attempt.trace_id}-{self.span_id}-01"


active_span: ContextVar[Optional[ActiveSpan]] = ContextVar("agent_trainer_active_span", default=None)

# Threads that the agent starts do not inherit context variables. A worker runs one attempt at a
# time, so what such a thread does belongs to the attempt of the process.
process_attempt: Optional[AttemptContext] = None


def set_process_attempt(attempt: Optional[AttemptContext]) -> None:
    global process_attempt
    process_attempt = attempt


def current_span() -> Optional[ActiveSpan]:
    """The innermost open span of the running code; None outside the trainer."""
    span = active_span.get()
    if span is not None:
        return span
    return process_attempt.root if process_attempt else None
