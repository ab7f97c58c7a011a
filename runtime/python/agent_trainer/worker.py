"""The worker process: loads one agent, then runs one attempt after another (`python -m agent_trainer.worker`)."""

from __future__ import annotations

import asyncio
import faulthandler
import inspect
import json
import math
import numbers
import os
import sys
import traceback
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple
from urllib.parse import urlsplit

from . import _http, _overlay
from ._agent import AgentNotFound, arguments_for, check_parameters, load_module, pick_agent
from ._channel import Channel
from ._context import ActiveSpan, AttemptContext, active_span, set_process_attempt
from ._emit import record_reward
from ._json_text import json_text
from ._operation import end_span
from ._recorded import RecordedOperations
from ._resources import LLM, PromptTemplate, Rollout, resource_from_wire

OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    faulthandler.enable()
    # The agent and what it starts must not find the way into this channel by accident.
    channel = Channel(os.environ.pop("AGENT_TRAINER_SOCKET"), os.environ.pop("AGENT_TRAINER_TOKEN"))
    _overlay.install(json.loads(os.environ.get("AGENT_TRAINER_OVERLAY", "{}")))
    load = channel.messages.get()
    gateway = urlsplit(load["gateway"])
    _http.install(gateway.hostname or "127.0.0.1", gateway.port or 80)
    try:
        module = load_module(load["file"], load["workspace"])
        agent = pick_agent(module, load["file"], load["name"])
        check_parameters(agent, load["file"], load["resources"])
    except AgentNotFound as error:
        channel.send({"type": "load_failed", "message": str(error)})
        return
    except BaseException as error:
        print_traceback(error)
        channel.send({"type": "load_failed", "message": f"{load['file']} cannot be imported: {describe(error, load['file'])}{which_python(error)}"})
        return
    channel.send({"type": "ready", "agent": getattr(agent, "__name__", load["name"] or "agent")})
    loop = asyncio.new_event_loop()  # one for all attempts: clients that the module keeps are bound to it
    asyncio.set_event_loop(loop)
    while True:
        message = channel.messages.get()
        run_attempt(channel, loop, agent, load["file"], message)


def run_attempt(channel: Channel, loop: asyncio.AbstractEventLoop, agent: Callable[..., Any], file: str, message: Dict[str, Any]) -> None:
    attempt = AttemptContext(message["rollout"]["rollout_id"], message["rollout"]["attempt_id"], message["trace_id"], channel.send, RecordedOperations(message.get("recorded", ())))
    attempt.root = ActiveSpan(attempt, None, "agentlightning.operation", root_attributes(agent, message)).begin()
    set_process_attempt(attempt)
    token = active_span.set(attempt.root)
    _http.hook_httpx()
    error: Optional[BaseException] = None
    reason: Optional[str] = None
    try:
        reward, reason = split_reason(call(loop, agent, message))
        result = classify(reward)
    except BaseException as raised:
        error = raised
        print_traceback(raised)
        result = {"kind": "raised", "error": describe(raised, file), "gateway": _http.is_gateway_error(raised)}
    if result["kind"] == "reward":
        value = result["value"]
        attempt.root.attributes["agentlightning.operation.output"] = json_text(value if reason is None else {"reward": value, "reason": reason})
        record_reward(value, None, reason, {})
    active_span.reset(token)
    end_span(attempt.root, error)
    set_process_attempt(None)
    flush()
    channel.send({"type": "result", "attempt_id": attempt.attempt_id, "result": result})


def call(loop: asyncio.AbstractEventLoop, agent: Callable[..., Any], message: Dict[str, Any]) -> Any:
    task = message["rollout"]["input"]
    value = agent(task, **arguments_for(agent, injectables(message)))
    if not inspect.isawaitable(value):
        return value

    async def awaited() -> Any:
        return await value
    try:
        return loop.run_until_complete(awaited())
    finally:
        cancel_leftovers(loop)


def cancel_leftovers(loop: asyncio.AbstractEventLoop) -> None:
    """Ends tasks the agent left running, so that they do not run into the next attempt."""
    leftovers = asyncio.all_tasks(loop)
    for task in leftovers:
        task.cancel()
    if leftovers:
        loop.run_until_complete(asyncio.gather(*leftovers, return_exceptions=True))


def injectables(message: Dict[str, Any]) -> Dict[str, Any]:
    resources = {name: resource_from_wire(resource) for name, resource in message["resources"].items()}
    llm = message["llm"]
    available: Dict[str, Any] = {**resources, "resources": resources}
    available["llm"] = LLM(llm["endpoint"], llm["model"], llm["api_key"], llm["sampling_parameters"])
    available["rollout"] = Rollout(**message["rollout"])
    templates: List[PromptTemplate] = [item for item in resources.values() if isinstance(item, PromptTemplate)]
    if "prompt_template" not in available and len(templates) == 1:
        available["prompt_template"] = templates[0]
    return available


def split_reason(value: Any) -> Tuple[Any, Optional[str]]:
    """The reward and the reason in `(0.5, "why")` or `{"reward": 0.5, "reason": "why"}`; anything else is a reward without one, or none."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
        return value
    if isinstance(value, Mapping) and "reward" in value and set(value) <= {"reward", "reason"} and isinstance(value.get("reason"), (str, type(None))):
        return value["reward"], value.get("reason")
    return value, None


def classify(value: Any) -> Dict[str, Any]:
    """What the agent's return value means. A bool, NaN or another type is never read as a reward."""
    if value is None:
        return {"kind": "none"}
    if isinstance(value, bool):
        return {"kind": "invalid", "description": f"bool {value}", "hint": f"return 1.0 or 0.0 instead of {value}"}
    if not isinstance(value, numbers.Real):
        return {"kind": "invalid", "description": f"{type(value).__name__} {short(repr(value))}"}
    number = float(value)
    return {"kind": "reward", "value": number} if math.isfinite(number) else {"kind": "invalid", "description": str(number)}


def root_attributes(agent: Callable[..., Any], message: Dict[str, Any]) -> Dict[str, Any]:
    attributes = {"agentlightning.operation.name": getattr(agent, "__name__", "agent"),
                  "agentlightning.operation.input": json_text(message["rollout"]["input"])}
    code = getattr(inspect.unwrap(agent), "__code__", None)
    if code is not None:
        attributes.update({"code.file.path": code.co_filename, "code.line.number": code.co_firstlineno, "code.function.name": code.co_name})
    return attributes


def describe(error: BaseException, agent_file: str) -> str:
    """One line: type, message and the place in the agent's own code."""
    if isinstance(error, SystemExit):
        text = f"the agent called sys.exit({error.code!r})"
    elif isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg} ({error.filename}:{error.lineno})"
    else:
        text = f"{type(error).__name__}: {short(str(error), 1000)}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith((OWN_FOLDER, "<"))]
    folder = os.path.dirname(os.path.abspath(agent_file))
    own = [frame for frame in frames if frame.filename.startswith(folder) and "site-packages" not in frame.filename] or frames
    return f"{text} ({own[-1].filename}:{own[-1].lineno})" if own else text


def which_python(error: BaseException) -> str:
    """For a missing module: where it was missed, since it may well be installed in another Python."""
    if not isinstance(error, ModuleNotFoundError):
        return ""
    return f". This was {sys.executable}; a .venv in the workspace or runner.python names another."


def short(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else text[:limit] + "…"


def print_traceback(error: BaseException) -> None:
    try:
        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
    except Exception:
        pass  # the agent closed or replaced stderr; the error itself goes over the channel
    flush()


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # as above


if __name__ == "__main__":
    main()
