"""`transformers.generate` as a measured process: argv is {folder, threads}; jobs as in own-sampler.ts. The attention is the faster of "sdpa" and "eager", the cache that of "dynamic" and "static", per batch."""
import json
import sys

import torch
from transformers import AutoModelForCausalLM

from serve import answer, jobs, stopwatch

job = json.loads(sys.argv[1])
torch.set_num_threads(job["threads"])
model = AutoModelForCausalLM.from_pretrained(job["folder"], dtype=torch.float32, attn_implementation="sdpa").eval()


def generate(prompts, new_tokens, attention, cache):
    model.set_attn_implementation(attention)
    ids = torch.tensor(prompts)
    stop = stopwatch()
    with torch.inference_mode():
        made = model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0, top_k=0, top_p=1.0, max_new_tokens=new_tokens, min_new_tokens=new_tokens,
            use_cache=True, pad_token_id=0, disable_compile=True, **({"cache_implementation": "static"} if cache == "static" else {}),
        )
    return stop(), made.shape[0] * (made.shape[1] - ids.shape[1])


ways = [(attention, cache) for attention in ("sdpa", "eager") for cache in ("dynamic", "static")]
chosen = {}
for job in jobs():
    prompts, new_tokens = job["prompts"], job["new_tokens"]
    if len(prompts) not in chosen:
        short = [prompt[:16] for prompt in prompts]
        generate(short, 2, *ways[0])  # the first run pays for memory
        times = [generate(short, 8, *way)[0]["seconds"] for way in ways]
        chosen[len(prompts)] = ways[times.index(min(times))]
    torch.manual_seed(job["seed"])
    time, tokens = generate(prompts, new_tokens, *chosen[len(prompts)])
    answer({**time, "tokens": tokens, "settings": " ".join(chosen[len(prompts)])})
