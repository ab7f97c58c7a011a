"""Drives the published `gepa` on the world of bench/prompts.ts: one JSON object on stdin, one on stdout. Its own defaults throughout."""
import json
import sys
import urllib.request

import gepa
from gepa.core.adapter import EvaluationBatch

job = json.load(sys.stdin)


def ask(model, messages, seed):
    body = json.dumps({"model": model, "messages": messages, "seed": seed}).encode()
    request = urllib.request.Request(job["url"] + "/chat/completions", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)["choices"][0]["message"]["content"]


class Agent:
    propose_new_texts = None

    def evaluate(self, batch, candidate, capture_traces=False):
        said = [json.loads(ask("agent", [{"role": "system", "content": candidate["system"]}, {"role": "user", "content": json.dumps(task["input"])}], task["seed"])) for task in batch]
        return EvaluationBatch(outputs=said, scores=[each["reward"] for each in said], trajectories=list(zip(batch, said)) if capture_traces else None)

    def make_reflective_dataset(self, candidate, eval_batch, components_to_update):
        records = [{"Inputs": task["input"], "Generated Outputs": str(said["reward"]), "Feedback": said["reason"]} for task, said in eval_batch.trajectories]
        return {name: records for name in components_to_update}


questions = 0


def reflect(prompt):
    global questions
    questions += 1
    messages = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt}]
    return ask("optimizer", messages, job["seed"] * 1000 + questions)


class Quiet:
    def log(self, *args, **kwargs):
        pass


result = gepa.optimize(
    seed_candidate={"system": job["prompt"]}, trainset=job["train"], valset=job["validation"], adapter=Agent(), reflection_lm=reflect,
    max_metric_calls=job["budget"], seed=job["seed"], logger=Quiet(),
)
json.dump({
    "prompts": [candidate["system"] for candidate in result.candidates], "scores": result.val_aggregate_scores,
    "found_after": result.discovery_eval_counts, "rollouts": result.total_metric_calls, "version": __import__("importlib.metadata").metadata.version("gepa"),
}, sys.stdout)
