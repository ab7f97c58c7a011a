"""JSON text of arbitrary values, bounded, for span attributes."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

LIMIT = 32_768  # characters
DEPTH = 20


def json_text(value: Any) -> str:
    """Valid JSON for any value. Longer than LIMIT: a JSON string with the beginning of the text."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(_plain(value, 0), ensure_ascii=False)
    if len(text) > LIMIT:
        return json.dumps(text[:LIMIT] + f"… ({len(text)} characters)", ensure_ascii=False)
    return text


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth < DEPTH:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: _plain(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)}
        if isinstance(value, dict):
            return {str(key): _plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [_plain(item, depth + 1) for item in value]
    try:
        return repr(value)
    except Exception as error:  # a broken __repr__ must not break the agent
        return f"<{type(value).__name__}: {type(error).__name__} in repr>"


def is_plain(value: Any) -> bool:
    """Whether the value comes back the same from its (bounded) JSON text: plain dicts with text keys, lists, text, finite numbers, booleans and None."""
    pending = [(value, 0)]
    visited = 0
    while pending:
        item, depth = pending.pop()
        visited += 1
        if visited > LIMIT or depth > DEPTH:
            return False
        kind = type(item)
        if kind is dict:
            if not all(type(key) is str for key in item):
                return False
            pending.extend((inner, depth + 1) for inner in item.values())
        elif kind is list:
            pending.extend((inner, depth + 1) for inner in item)
        elif kind is float:
            if not math.isfinite(item):
                return False
        elif kind not in (str, int, bool, type(None)):
            return False
    return len(json.dumps(value, ensure_ascii=False, allow_nan=False)) <= LIMIT
