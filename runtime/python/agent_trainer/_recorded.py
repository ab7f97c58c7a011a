"""Results of an earlier attempt, returned in place of running its operations again."""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, Iterable, Mapping, Optional, Tuple


class RecordedOperations:
    """By operation and input. Each result is handed out once, in the order they were recorded; JSON text."""

    def __init__(self, recorded: Iterable[Mapping[str, Any]] = ()) -> None:
        self._queues: Dict[Tuple[str, str], Deque[str]] = {}
        for operation in recorded:
            self._queues.setdefault((operation["name"], operation["input"]), deque()).append(operation["output"])

    def take(self, name: str, input_text: str) -> Optional[str]:
        queue = self._queues.get((name, input_text))
        return queue.popleft() if queue else None
