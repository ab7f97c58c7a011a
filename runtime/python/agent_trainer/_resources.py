"""What the trainer hands to an agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Optional


@dataclass
class LLM:
    """An OpenAI-compatible model. `endpoint` is a base URL that ends in /v1 and belongs to one attempt."""

    endpoint: str
    model: str
    api_key: Optional[str] = None
    sampling_parameters: Dict[str, Any] = field(default_factory=dict)

    def get_base_url(self, rollout_id: Optional[str] = None, attempt_id: Optional[str] = None) -> str:
        """The base URL for an OpenAI client. The ids are accepted for agents written for Agent Lightning; the endpoint carries them already."""
        return self.endpoint


@dataclass
class PromptTemplate:
    """A prompt with placeholders. `engine` is "f-string" ({name}) or "jinja" ({{ name }}, needs the jinja2 package)."""

    template: str
    engine: str = "f-string"

    def format(self, **values: Any) -> str:
        """The template with its placeholders filled. Raises KeyError for a placeholder without a value (f-string engine)."""
        if self.engine == "f-string":
            return self.template.format(**values)
        if self.engine == "jinja":
            try:
                import jinja2  # type: ignore[import-not-found, unused-ignore]
            except ImportError as error:
                raise ImportError("this prompt template is written for Jinja: install jinja2 in the agent's environment") from error
            return str(jinja2.Template(self.template).render(**values))
        raise ValueError(f"unknown template engine {self.engine!r}: use 'f-string' or 'jinja'")


@dataclass
class Rollout:
    """The rollout an agent is running for, as injected under the name `rollout`."""

    rollout_id: str
    attempt_id: str
    input: Any
    run_id: Optional[str] = None
    task_id: Optional[str] = None
    step: Optional[int] = None
    mode: Optional[str] = None
    metadata: Optional[Dict[str, Any]] = None

    @property
    def attempt(self) -> "Rollout":
        """Agents written for Agent Lightning look for `attempt_id` there."""
        return self


def resource_from_wire(resource: Dict[str, Any]) -> Any:
    """The object for a resource as the runner sends it."""
    if resource["resource_type"] == "llm":
        return LLM(resource["endpoint"], resource["model"], resource.get("api_key"), dict(resource.get("sampling_parameters") or {}))
    return PromptTemplate(resource["template"], resource["engine"])
