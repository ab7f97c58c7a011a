"""TRL's GRPOTrainer as a measured process: argv is {folder, threads, lr, attention, cache}; jobs are those of kind "grpo" in own-steps.ts, of which the first says what is the same in all."""
import json
import re
import sys
import tempfile
import time

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from serve import answer, jobs, stopwatch

setup = json.loads(sys.argv[1])
torch.set_num_threads(setup["threads"])
job_lines = jobs()
job = next(job_lines)


def vowel_share(completions, **_):
    texts = [completion[0]["content"] for completion in completions]
    return [len(re.sub("[^aeiou]", "", text, flags=re.I)) / max(1, len(text)) for text in texts]


class Measure(TrainerCallback):
    """A step is made when it is asked for."""
    asked = True

    def on_step_begin(self, args, state, control, **_):
        if not self.asked and next(job_lines, None) is None:
            sys.exit(0)
        self.asked = False
        trainer.sampling, trainer.tokens = 0.0, 0
        self.stop = stopwatch()

    def on_step_end(self, args, state, control, **_):
        answer({**self.stop(), "sampling": trainer.sampling, "tokens": trainer.tokens, "settings": " ".join(filter(None, [setup["attention"], setup["cache"]]))})


class Trainer(GRPOTrainer):
    def _generate(self, *args, **kwargs):
        start = time.perf_counter()
        result = super()._generate(*args, **kwargs)
        self.sampling += time.perf_counter() - start
        self.tokens += sum(len(ids) for ids in result[1])
        return result


tokenizer = AutoTokenizer.from_pretrained(setup["folder"])
tokenizer.eos_token = "<|im_end|>"
config = GRPOConfig(
    output_dir=tempfile.mkdtemp(), use_cpu=True, bf16=False, gradient_checkpointing=False, per_device_train_batch_size=job["group"], num_generations=job["group"],
    gradient_accumulation_steps=1, num_iterations=1, max_completion_length=job["new_tokens"], temperature=1.0, top_p=1.0, top_k=0, beta=0.0, learning_rate=setup["lr"],
    lr_scheduler_type="constant", max_steps=1000, report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True, dataloader_num_workers=0, seed=1,
    cache_implementation=setup["cache"],
)
trainer = Trainer(
    model=AutoModelForCausalLM.from_pretrained(setup["folder"], dtype=torch.float32, attn_implementation=setup["attention"]), reward_funcs=vowel_share, args=config, processing_class=tokenizer, callbacks=[Measure()],
    train_dataset=Dataset.from_list([{"prompt": job["messages"]}] * 1000),
)
trainer.train()
