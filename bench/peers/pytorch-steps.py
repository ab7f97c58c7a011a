"""A plain PyTorch loop as a measured process: argv is {folder, threads, lr, attention}; jobs are those of kind "sft" in own-steps.ts."""
import json
import sys

import torch
from transformers import AutoModelForCausalLM

from serve import answer, jobs, stopwatch

setup = json.loads(sys.argv[1])
torch.set_num_threads(setup["threads"])
model = AutoModelForCausalLM.from_pretrained(setup["folder"], dtype=torch.float32, attn_implementation=setup["attention"]).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=setup["lr"], betas=(0.9, 0.999), weight_decay=0.0, fused=True)


def step(ids):
    model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


for job in jobs():
    torch.manual_seed(job["seed"])
    ids = torch.randint(300, model.config.vocab_size, (job["rows"], job["length"]))
    stop = stopwatch()
    step(ids)
    answer({**stop(), "sampling": 0, "tokens": ids.numel(), "settings": setup["attention"]})
