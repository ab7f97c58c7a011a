"""Tests of the Python runtime; run by python.test.ts, or with `python -m unittest discover`."""

import asyncio
import json
import math
import sys
import threading
import unittest
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from agent_trainer import LLM, LitAgent, PromptTemplate, Rollout, emit_message, emit_reward, operation, rollout
from agent_trainer import _context, _http
from agent_trainer._agent import arguments_for
from agent_trainer._lit_agent import as_function, is_lit_agent
from agent_trainer._json_text import json_text
from agent_trainer.worker import classify, describe, split_reason


class OutsideTheTrainer(unittest.TestCase):
    def test_everything_is_harmless(self):
        @operation("add")
        def add(a, b=1):
            return a + b

        @rollout
        def agent(task):
            with operation("step"):
                emit_reward(float("nan"))
                emit_message("nobody listens")
                return add(task)

        self.assertEqual(agent(2), 3)
        self.assertEqual(add.__name__, "add")

    def test_async_steps_stay_async(self):
        @operation("later")
        async def later(x):
            await asyncio.sleep(0)
            return x
        self.assertEqual(asyncio.run(later(5)), 5)

    def test_errors_pass(self):
        @operation("fails")
        def fails():
            raise KeyError("own")
        with self.assertRaises(KeyError):
            fails()
        with self.assertRaises(TypeError):
            rollout(3)
        with self.assertRaises(TypeError):
            operation(lambda: 1)


class AgentsThatAreClasses(unittest.TestCase):
    def call(self, agent, mode, **resources):
        llm = LLM("e", "m")
        rollout_ = Rollout("ro", "at", 1, mode=mode)
        run = as_function(agent)
        return run("task", **arguments_for(run, {"llm": llm, "resources": resources, "rollout": rollout_, **resources}))

    def test_the_method_follows_the_mode(self):
        class Both(LitAgent[str]):
            def training_rollout(self, task, resources, rollout): return "training"
            def validation_rollout(self, task, resources, rollout): return "validation"

        class One(LitAgent):
            def rollout(self, task, resources, rollout): return rollout.attempt.attempt_id

        class Later(One):
            async def training_rollout_async(self, task, resources, rollout): return "later"

        self.assertEqual([self.call(Both, mode) for mode in ("train", "val", "test", None)], ["training", "validation", "validation", "training"])
        self.assertEqual([self.call(One, mode) for mode in ("train", "val", None)], ["at", "at", "at"])
        self.assertEqual(asyncio.run(self.call(Later, "train")), "later")
        self.assertEqual(self.call(Later, "val"), "at")

    def test_the_resources_hold_the_model_and_what_the_run_has(self):
        class Asks(LitAgent):
            def rollout(self, task, resources, rollout): return sorted(resources)
        self.assertEqual(self.call(Asks, None, greeting=PromptTemplate("hi")), ["greeting", "llm", "main_llm"])

    def test_any_base_of_the_name_will_do_and_its_own_methods_do_not_count(self):
        class Foreign:
            def rollout(self, task, resources, rollout): raise NotImplementedError
        Foreign.__name__ = "LitAgent"

        class Agent(Foreign):
            async def rollout_async(self, task, resources, rollout): return 1

        class Empty(Foreign):
            pass

        self.assertEqual(asyncio.run(self.call(Agent, "train")), 1)
        self.assertEqual([is_lit_agent(value) for value in (Agent, Empty, Foreign, LitAgent, 3)], [True, False, False, False, False])

    def test_a_mode_without_a_method_is_an_error_that_says_so(self):
        class Trains(LitAgent):
            def training_rollout(self, task, resources, rollout): return 1
        with self.assertRaisesRegex(TypeError, "Trains has no method for tasks of mode 'val'"):
            self.call(Trains, "val")


class InAnAttempt(unittest.TestCase):
    def setUp(self):
        self.sent = []
        attempt = _context.AttemptContext("ro", "at", "f" * 32, self.sent.append)
        attempt.root = _context.ActiveSpan(attempt, None, "root", {})
        self.root = attempt.root
        _context.set_process_attempt(attempt)
        self.addCleanup(_context.set_process_attempt, None)

    def ended(self):
        return [message["span"] for message in self.sent if message["type"] == "end"]

    def test_steps_nest_and_record(self):
        @operation("inner")
        def inner(x, *, y=2):
            return [x, y]
        with operation("outer"):
            inner(1, y=3)
        inner_span, outer_span = self.ended()
        self.assertEqual(inner_span["parent_id"], outer_span["span_id"])
        self.assertEqual(outer_span["parent_id"], self.root.span_id)
        self.assertEqual(json.loads(inner_span["attributes"]["agentlightning.operation.input"]), {"x": 1, "y": 3})
        self.assertEqual(inner_span["attributes"]["agentlightning.operation.output"], "[1, 3]")
        self.assertTrue(inner_span["attributes"]["code.file.path"].endswith("test_agent_trainer.py"))
        self.assertEqual([message["type"] for message in self.sent], ["begin", "begin", "end", "end"])

    def test_concurrent_steps_keep_their_parents(self):
        @operation("inner")
        async def inner(x):
            await asyncio.sleep(0)

        @operation("outer")
        async def outer(x):
            await asyncio.sleep(0)
            await inner(x)

        async def both():
            await asyncio.gather(outer(1), outer(2))
        asyncio.run(both())
        by_input = {(span["attributes"]["agentlightning.operation.name"], span["attributes"]["agentlightning.operation.input"]): span for span in self.ended()}
        for x in (1, 2):
            self.assertEqual(by_input["inner", f'{{"x": {x}}}']["parent_id"], by_input["outer", f'{{"x": {x}}}']["span_id"])

    def test_one_operation_object_entered_twice(self):
        step = operation("step")
        with step:
            with step:
                pass
        first, second = self.ended()
        self.assertEqual(first["parent_id"], second["span_id"])
        self.assertEqual(second["parent_id"], self.root.span_id)

    def test_errors_are_recorded(self):
        with self.assertRaises(ValueError):
            with operation("step"):
                raise ValueError("bad")
        (span,) = self.ended()
        self.assertEqual(span["status"], {"status_code": "ERROR", "description": "ValueError: bad"})
        self.assertEqual(span["events"][0]["attributes"]["exception.type"], "ValueError")

    def test_threads_belong_to_the_attempt(self):
        thread = threading.Thread(target=emit_message, args=("from a thread",))
        thread.start()
        thread.join()
        self.assertEqual(self.ended()[0]["parent_id"], self.root.span_id)

    def test_rewards(self):
        emit_reward(1)
        line = sys._getframe().f_lineno - 1
        emit_reward({"a": 0.5, "b": Fraction(1, 4)}, primary_key="b")
        first, second = self.ended()
        self.assertEqual(first["attributes"], {
            "agentlightning.reward.0.name": "primary", "agentlightning.reward.0.value": 1.0, "code.file.path": __file__, "code.line.number": line})
        self.assertEqual(second["attributes"]["agentlightning.reward.0.value"], 0.25)
        self.assertEqual(second["attributes"]["agentlightning.reward.1.name"], "a")

    def test_reasons(self):
        emit_reward({"a": 0.5, "b": 1}, primary_key="b", reason="why")
        emit_reward(0, reason="x" * 100_000)
        first, second = self.ended()
        self.assertEqual(first["attributes"]["agentlightning.reward.0.reason"], "why")
        self.assertEqual(len(second["attributes"]["agentlightning.reward.0.reason"]), 32_768)
        with self.assertRaises(TypeError):
            emit_reward(1, reason=2)

    def test_wrong_rewards(self):
        for value in (True, "1", None, Decimal("1"), [1], 1j):
            with self.assertRaises(TypeError, msg=repr(value)):
                emit_reward(value)
        for value in (math.nan, math.inf):
            with self.assertRaises(ValueError):
                emit_reward(value)
        with self.assertRaises(ValueError):
            emit_reward({"a": 1}, primary_key="b")
        self.assertEqual(self.sent, [])


class Details(unittest.TestCase):
    def test_results_are_read_strictly(self):
        self.assertEqual([classify(value)["kind"] for value in (0, 0.5, None)], ["reward", "reward", "none"])
        for value in (True, math.nan, -math.inf, "1", [], {}, 1j):
            self.assertEqual(classify(value)["kind"], "invalid", repr(value))
        self.assertEqual(classify(False)["hint"], "return 1.0 or 0.0 instead of False")

    def test_a_reward_and_its_reason_are_taken_apart_and_nothing_else(self):
        for value in ((0.5, "why"), {"reward": 0.5, "reason": "why"}, MappingProxyType({"reward": 0.5, "reason": "why"})):
            self.assertEqual(split_reason(value), (0.5, "why"))
        for value in ({"reward": 0.5}, {"reward": 0.5, "reason": None}):
            self.assertEqual(split_reason(value), (0.5, None))
        for value in (0.5, None, "x", (0.5, 1), (0.5, None), ("why",), [0.5, "why"], {"reason": "why"}, {"reward": 1, "reason": 2}, {"reward": 1, "other": 2}):
            self.assertEqual(split_reason(value), (value, None))

    def test_json_for_anything(self):
        @dataclass
        class Point:
            x: float
        self.assertEqual(json_text({"p": Point(math.nan), "s": {1}}), '{"p": {"x": "nan"}, "s": [1]}')
        cycle = []
        cycle.append(cycle)
        json.loads(json_text(cycle))

        class Broken:
            def __repr__(self):
                raise RuntimeError
        self.assertIn("RuntimeError in repr", json_text(Broken()))
        self.assertLess(len(json_text("y" * 100_000)), 40_000)

    def test_injection_by_name(self):
        available = {"llm": 1, "rollout": 2, "extra": 3}
        self.assertEqual(arguments_for(lambda task, llm, other=5: 0, available), {"llm": 1})
        self.assertEqual(arguments_for(lambda task, *args, extra, **more: 0, available), {"extra": 3})
        with self.assertRaisesRegex(TypeError, "asks for 'lost'"):
            arguments_for(lambda task, lost: 0, available)
        with self.assertRaisesRegex(TypeError, "takes no parameter"):
            arguments_for(lambda: 0, available)

    def test_prompt_template(self):
        self.assertEqual(PromptTemplate("{a} and {{b}}").format(a=1), "1 and {b}")
        with self.assertRaises(KeyError):
            PromptTemplate("{a}").format()
        with self.assertRaises(ValueError):
            PromptTemplate("x", "mustache").format()

    def test_llm(self):
        llm = LLM("http://127.0.0.1:1/rollout/r/attempt/a/v1", "m")
        self.assertEqual(llm.get_base_url("r", "a"), llm.endpoint)

    def test_gateway_errors_are_found_through_causes(self):
        origin = ConnectionRefusedError("refused")
        _http._mark(origin)
        try:
            try:
                raise origin
            except OSError as error:
                raise RuntimeError("wrapped") from error
        except RuntimeError as outer:
            self.assertTrue(_http.is_gateway_error(outer))
        self.assertFalse(_http.is_gateway_error(ConnectionRefusedError("another")))
        self.assertFalse(_http.is_gateway_error(None))

    def test_description_names_the_agents_own_line(self):
        try:
            json.loads("{")
        except ValueError as error:
            self.assertRegex(describe(error, __file__), r"JSONDecodeError: .*\(.*test_agent_trainer\.py:\d+\)$")


if __name__ == "__main__":
    unittest.main()
