"""Marking an agent, finding it in its file, and calling it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Iterable, List, Optional, TypeVar

from ._lit_agent import as_function, is_lit_agent

F = TypeVar("F", bound=Callable[..., Any])

_MARK = "__agent_trainer_rollout__"


def rollout(function: F) -> F:
    """Marks a function (sync or async) as an agent.

    Its first parameter is the task; parameters named `llm`, `prompt_template`, `rollout`, `resources`, or after a
    resource of the run, are filled in by name. It returns the final reward: a number, or with a reason in words
    `(0.5, "why")` or `{"reward": 0.5, "reason": "why"}`; or None after `emit_reward`.
    """
    if not callable(function):
        raise TypeError(f"@rollout marks a function, got {type(function).__name__}")
    setattr(function, _MARK, True)
    return function


class AgentNotFound(Exception):
    """The file has no agent that can be run; the message says what it has."""


def load_module(file: str, workspace: str) -> ModuleType:
    """Imports the agent's file the way Python would run it: its folder and the workspace can be imported from."""
    folder, base = os.path.split(os.path.abspath(file))
    stem = os.path.splitext(base)[0]
    package: List[str] = []
    root = folder
    while os.path.exists(os.path.join(root, "__init__.py")):
        root, name = os.path.split(root)
        package.insert(0, name)
    for path in (workspace, root):
        if path in sys.path:
            sys.path.remove(path)
        sys.path.insert(0, path)
    if package:
        return importlib.import_module(".".join([*package, stem]))
    name = stem if stem not in sys.modules and stem not in sys.builtin_module_names else f"agent_{stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up by name
    spec.loader.exec_module(module)
    return module


def pick_agent(module: ModuleType, file: str, name: Optional[str]) -> Callable[..., Any]:
    """The marked function or `LitAgent` class of the module, or any function when it is named. Raises AgentNotFound."""
    marked: Dict[str, Callable[..., Any]] = {
        key: value for key, value in vars(module).items()
        if (getattr(value, _MARK, False) is True or is_lit_agent(value)) and getattr(value, "__module__", None) == module.__name__
    }
    listing = ", ".join(marked) if marked else "none"
    if name is not None:
        agent: Optional[Callable[..., Any]] = getattr(module, name, None)
        if agent is None or not callable(agent):
            raise AgentNotFound(f"{file} has no function named {name!r} (agents in it: {listing}).")
        return as_function(agent) if is_lit_agent(agent) else agent
    if not marked:
        raise AgentNotFound(f"{file} has no agent: decorate the function with @rollout, or name it as {os.path.basename(file)}:function.")
    if len(set(map(id, marked.values()))) > 1:
        raise AgentNotFound(f"{file} has several agents ({listing}): choose one as {os.path.basename(file)}:name.")
    agent = next(iter(marked.values()))
    return as_function(agent) if is_lit_agent(agent) else agent


def check_parameters(agent: Callable[..., Any], file: str, resources: Iterable[str]) -> None:
    """Raises AgentNotFound for a parameter that no rollout of the run will fill; `resources`: the names of those it brings."""
    names = ["llm", "rollout", "resources", *resources]
    if len(names) > 3:
        names.append("prompt_template")  # stands for the only template, which shows with the first rollout
    try:
        arguments_for(agent, dict.fromkeys(names))
    except TypeError as error:
        raise AgentNotFound(f"{file}: {error}.") from error


def arguments_for(agent: Callable[..., Any], available: Dict[str, Any]) -> Dict[str, Any]:
    """The keyword arguments to inject. Raises TypeError for a parameter without default that the run cannot fill."""
    injected: Dict[str, Any] = {}
    parameters = list(inspect.signature(agent).parameters.values())
    if not parameters:
        raise TypeError(f"agent {getattr(agent, '__name__', 'agent')} takes no parameter, but its first parameter is the task")
    for parameter in parameters[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name in available:
            injected[parameter.name] = available[parameter.name]
        elif parameter.default is parameter.empty:
            example = ', such as PromptTemplate("…")' if parameter.name == "prompt_template" else ""
            raise TypeError(f"the agent asks for {parameter.name!r}, which this run does not provide (it provides {', '.join(available)}; the task is the first parameter): give it a default value{example}")
    return injected
