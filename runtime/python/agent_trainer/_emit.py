"""Rewards and messages that an agent reports while it runs."""

from __future__ import annotations

import math
import numbers
import sys
from typing import Any, Dict, Mapping, Optional, Union

from ._context import ActiveSpan, current_span


_LONGEST_REASON = 32_768  # characters


def emit_reward(reward: Union[float, Mapping[str, float]], *, primary_key: Optional[str] = None, reason: Optional[str] = None) -> None:
    """Reports a reward: a number, or several named ones of which `primary_key` (default: the first) is the one that counts.

    `reason` says why, in words: shown with the reward, and what prompts are improved from.
    The last emitted reward is the attempt's final reward if the agent returns none.
    Raises TypeError for anything that is not a number, ValueError for NaN, infinity or an unknown primary key.
    """
    frame = sys._getframe(1)
    record_reward(reward, primary_key, reason, {"code.file.path": frame.f_code.co_filename, "code.line.number": frame.f_lineno})


def record_reward(reward: Union[float, Mapping[str, float]], primary_key: Optional[str], reason: Optional[str], code: Mapping[str, Any]) -> None:
    """`code`: where the agent emitted it; nothing for a reward that it returned."""
    span = current_span()
    if span is None:
        return
    dimensions = dict(reward) if isinstance(reward, Mapping) else {"primary": reward}
    if primary_key is None:
        primary_key = next(iter(dimensions), None)
    if primary_key not in dimensions:
        raise ValueError(f"emit_reward: the primary key {primary_key!r} is not among {list(dimensions)}")
    names = [primary_key] + [name for name in dimensions if name != primary_key]
    attributes: Dict[str, Any] = dict(code)
    for index, name in enumerate(names):
        attributes[f"agentlightning.reward.{index}.name"] = str(name)
        attributes[f"agentlightning.reward.{index}.value"] = as_reward(dimensions[name], "emit_reward")
    if reason is not None:
        if not isinstance(reason, str):
            raise TypeError(f"emit_reward: a reason is a string, got {type(reason).__name__}")
        attributes["agentlightning.reward.0.reason"] = reason[:_LONGEST_REASON]
    _emit(span, "agentlightning.annotation", attributes)


def emit_message(message: str) -> None:
    """Puts a line of text into the trace."""
    span = current_span()
    if span is None:
        return
    if not isinstance(message, str):
        raise TypeError(f"emit_message: expected a string, got {type(message).__name__}")
    _emit(span, "agentlightning.message", {"agentlightning.message.body": message})


def as_reward(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{where}: a reward is a number, got {type(value).__name__}{': use 1.0 or 0.0' if isinstance(value, bool) else ''}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{where}: a reward is a finite number, got {number}")
    return number


def _emit(parent: ActiveSpan, name: str, attributes: Mapping[str, Any]) -> None:
    ActiveSpan(parent.attempt, parent, name, dict(attributes)).end()
