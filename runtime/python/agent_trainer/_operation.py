"""Named steps of an agent."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import traceback
from contextvars import Token
from types import CodeType, TracebackType
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar, cast

from . import _http
from ._context import ActiveSpan, active_span, current_span
from ._json_text import is_plain, json_text

F = TypeVar("F", bound=Callable[..., Any])

Entered = Tuple[Optional[ActiveSpan], Optional["Token[Optional[ActiveSpan]]"]]


class operation:
    """Names a step: `with operation("write_query"):` or `@operation("write_query")` on a function, sync or async.

    In the trainer it becomes a span with input, output, errors and the place in the code, and LLM calls made
    inside belong to it.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError('operation needs a name: operation("write_query")')
        self.name = name
        self._entered: List[Entered] = []

    def __enter__(self) -> "operation":
        frame = sys._getframe(1)
        self._entered.append(enter_span(self.name, code_attributes(frame.f_code, frame.f_lineno)))
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        exit_span(self._entered.pop(), error)

    def __call__(self, function: F) -> F:
        signature = inspect.signature(function)
        code = code_attributes(function.__code__, function.__code__.co_firstlineno) if hasattr(function, "__code__") else {}

        def begin(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Entered:
            if current_span() is None:
                return None, None
            try:
                inputs: Any = dict(signature.bind(*args, **kwargs).arguments)
            except TypeError:
                inputs = {"args": args, "kwargs": kwargs}  # the call itself raises the error right after
            inputs.pop("self", None)
            return enter_span(self.name, {**code, "agentlightning.operation.input": json_text(inputs)})

        def from_record(entered: Entered) -> Optional[str]:
            """The recorded output of this very call, its span ended; None: it has to run."""
            span, token = entered
            if span is None or token is None:
                return None
            output = span.attempt.recorded.take(self.name, span.attributes["agentlightning.operation.input"])
            if output is not None:
                active_span.reset(token)
                span.attributes.update({"agentlightning.operation.output": output, "agent_trainer.operation.replayable": True, "agent_trainer.replay.recorded": True})
                span.end()
            return output

        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def run_async(*args: Any, **kwargs: Any) -> Any:
                entered = begin(args, kwargs)
                recorded = from_record(entered)
                if recorded is not None:
                    return json.loads(recorded)
                try:
                    result = await function(*args, **kwargs)
                except BaseException as error:
                    exit_span(entered, error)
                    raise
                exit_span(entered, None, result)
                return result
            return cast(F, run_async)

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            entered = begin(args, kwargs)
            recorded = from_record(entered)
            if recorded is not None:
                return json.loads(recorded)
            try:
                result = function(*args, **kwargs)
            except BaseException as error:
                exit_span(entered, error)
                raise
            exit_span(entered, None, result)
            return result
        return cast(F, run)


def enter_span(label: str, attributes: Dict[str, Any]) -> Entered:
    parent = current_span()
    if parent is None:
        return None, None
    _http.hook_httpx()
    span = ActiveSpan(parent.attempt, parent, "agentlightning.operation", {"agentlightning.operation.name": label, **attributes}).begin()
    return span, active_span.set(span)


_NO_OUTPUT = object()


def exit_span(entered: Entered, error: Optional[BaseException], output: Any = _NO_OUTPUT) -> None:
    span, token = entered
    if span is None or token is None:
        return
    try:
        active_span.reset(token)
    except ValueError:
        pass  # left in another context than entered (async generators); that context is gone with its value
    if output is not _NO_OUTPUT:
        span.attributes["agentlightning.operation.output"] = json_text(output)
        if is_plain(output):
            span.attributes["agent_trainer.operation.replayable"] = True
    end_span(span, error)


def end_span(span: ActiveSpan, error: Optional[BaseException]) -> None:
    if error is None:
        span.end()
        return
    span.events.append({"name": "exception", "timestamp": None, "attributes": {
        "exception.type": type(error).__name__,
        "exception.message": str(error),
        "exception.stacktrace": "".join(traceback.format_exception(type(error), error, error.__traceback__))[-8192:],
    }})
    span.end("ERROR", f"{type(error).__name__}: {error}")


def code_attributes(code: CodeType, line: int) -> Dict[str, Any]:
    return {"code.file.path": code.co_filename, "code.line.number": line, "code.function.name": code.co_name}
