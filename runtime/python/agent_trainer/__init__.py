"""What an agent author imports. Standard library only, Python 3.9 and later.

Outside the trainer every name here is harmless: a marked agent is an ordinary
function, operations run their body, and the emitters do nothing.
"""

from ._agent import rollout
from ._emit import emit_message, emit_reward
from ._lit_agent import LitAgent
from ._operation import operation
from ._resources import LLM, PromptTemplate, Rollout

__all__ = ["LLM", "LitAgent", "PromptTemplate", "Rollout", "emit_message", "emit_reward", "operation", "rollout"]
