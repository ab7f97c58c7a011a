"""Answers jobs, one JSON object a line, until standard input ends: the other side of peer-process.ts. Libraries may print: not to standard output."""
import json
import os
import resource
import sys
import time

_answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def jobs():
    for line in sys.stdin:
        yield json.loads(line)


def answer(result):
    unit = 1 if sys.platform == "darwin" else 1024
    result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    _answers.write(json.dumps(result) + "\n")
    _answers.flush()


def stopwatch():
    """A function that tells the seconds since now of wall clock and of CPU (all threads)."""
    start, before = time.perf_counter(), time.process_time()
    return lambda: {"seconds": time.perf_counter() - start, "cpu": time.process_time() - before}
