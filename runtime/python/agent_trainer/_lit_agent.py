"""Agents that are classes, as Agent Lightning has them."""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Generic, List, Optional, TypeVar

T = TypeVar("T")

_BASE = "LitAgent"
_METHODS = ("rollout", "training_rollout", "validation_rollout")
_BY_MODE = {"train": ("training_rollout", "rollout"), "val": ("validation_rollout", "rollout"), "test": ("validation_rollout", "rollout"), None: _METHODS}


class LitAgent(Generic[T]):
    """Base of an agent that is a class; a worker makes one instance, without arguments, for all its attempts.

    It has `rollout(task, resources, rollout)`, or `training_rollout` and `validation_rollout` where the two differ, each
    also as a coroutine (`rollout_async` …). `resources` holds the run's resources by name and its model as "llm". It
    returns the final reward, or None after `emit_reward`. A class that extends any other `LitAgent` works the same.
    """


def is_lit_agent(value: Any) -> bool:
    """Whether a value is a class that extends a `LitAgent` and says how to do a task."""
    return inspect.isclass(value) and any(base.__name__ == _BASE for base in value.__mro__[1:]) and bool(_methods(value, _METHODS))


def as_function(agent: type) -> Callable[..., Any]:
    """The class as a function that does one task; raises what its constructor raises."""
    instance = agent()

    def run(task: Any, *, llm: Any, resources: Dict[str, Any], rollout: Any) -> Any:
        method = _method(agent, rollout.mode)
        if method is None:
            raise TypeError(f"{agent.__name__} has no method for tasks of mode {rollout.mode!r}: give it rollout(self, task, resources, rollout)")
        # Agents written for Agent Lightning look for the model under the second name.
        return getattr(instance, method)(task, {"llm": llm, "main_llm": llm, **resources}, rollout)

    run.__name__ = agent.__name__
    run.__signature__ = inspect.signature(run)  # type: ignore[attr-defined]
    run.__wrapped__ = getattr(agent, _methods(agent, _METHODS)[0])  # type: ignore[attr-defined]
    return run


def _method(agent: type, mode: Optional[str]) -> Optional[str]:
    return next(iter(_methods(agent, _BY_MODE.get(mode, _METHODS))), None)


def _methods(agent: type, names: Any) -> List[str]:
    """Those of these methods, or their coroutines, that the class has of its own: a base may have them all, and refuse."""
    own = set()
    for base in agent.__mro__:
        if base.__name__ == _BASE:
            break
        own.update(vars(base))
    return [method for name in names for method in (f"{name}_async", name) if method in own]
