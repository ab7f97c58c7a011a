"""An agent that answers a question about a SQLite database with a query:
write_query -> execute_query -> check_query -> rewrite_query, until the model finds its query correct or the turns are used up.
It knows nothing of training: it calls an OpenAI-compatible endpoint and returns a reward. Standard library only."""

import json
import math
import re
import sqlite3
import time
import urllib.request
from pathlib import Path

from agent_trainer import operation, rollout

SYSTEM_PROMPT = "You write SQLite queries."
CHECK_PROMPT = "Result: {result}\nIs the query correct or incorrect?"
REWRITE_PROMPT = "Rewrite the query."

DATABASES = Path(__file__).parent / "databases"
MAX_TURNS = 3
MAX_QUERY_TOKENS = 64
MAX_VERDICT_TOKENS = 8
MAX_ROWS = 1000
MAX_TABLE_LOOPS = 4
TIME_LIMIT_SECONDS = 2.0


@rollout
def sql_agent(task, llm):
    database = open_database(task["db"])
    try:
        messages = write_prompt(describe_schema(database), task["question"])

        @operation("write_query")
        def write_query():
            return extract_sql(ask(llm, messages, MAX_QUERY_TOKENS))

        @operation("execute_query")
        def execute_query(query):
            return run_query(database, query)

        @operation("check_query")
        def check_query(rows, error):
            messages.append({"role": "user", "content": check_prompt(describe_result(rows, error))})
            return not re.search(r"\bincorrect\b", ask(llm, messages, MAX_VERDICT_TOKENS), re.IGNORECASE)

        @operation("rewrite_query")
        def rewrite_query():
            messages.append({"role": "user", "content": REWRITE_PROMPT})
            return extract_sql(ask(llm, messages, MAX_QUERY_TOKENS))

        query = write_query()
        for _ in range(1, MAX_TURNS):
            rows, error = execute_query(query)
            if check_query(rows, error):
                break
            query = rewrite_query()
        return score(database, query, task["query"])
    finally:
        database.close()


# The model


def write_prompt(schema, question):
    return [
        {"role": "system", "content": SYSTEM_PROMPT},
        {"role": "user", "content": f"{schema}\n{question}"},
    ]


def check_prompt(result):
    return CHECK_PROMPT.replace("{result}", result)


def ask(llm, messages, max_tokens):
    """Sends the conversation and appends the answer to it."""
    body = {"model": llm.model, "messages": messages, "max_tokens": max_tokens, **(llm.sampling_parameters or {})}
    request = urllib.request.Request(
        f"{llm.endpoint}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {llm.api_key or 'none'}"},
    )
    with urllib.request.urlopen(request) as response:
        answer = json.load(response)["choices"][0]["message"]["content"] or ""
    messages.append({"role": "assistant", "content": answer})
    return answer


def extract_sql(answer):
    """The query inside a Markdown code block, if the model wrapped it in one."""
    block = re.search(r"```(?:sql)?\s*([\s\S]*?)```", answer)
    return (block.group(1) if block else answer).strip()


# The database


def open_database(name):
    return sqlite3.connect(f"{(DATABASES / name).with_suffix('.sqlite').as_uri()}?mode=ro", uri=True)


def describe_schema(database):
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
    return "\n".join(f"{table}({', '.join(row[1] for row in database.execute(f'PRAGMA table_info({table})'))})" for table in tables)


def run_query(database, query):
    """Runs one SELECT statement; returns (rows, None) or (None, error). Same limits as in agent.ts, and a real time limit."""
    sql = re.sub(r";$", "", query.strip())
    if not re.match(r"select\b", sql, re.IGNORECASE) or ";" in sql or re.search(r"\bwith\b", sql, re.IGNORECASE):
        return None, "only a single SELECT statement is allowed"
    deadline = time.monotonic() + TIME_LIMIT_SECONDS
    database.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        plan = database.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
        if sum(1 for step in plan if re.match(r"(SCAN|SEARCH)\b", step[3])) > MAX_TABLE_LOOPS:
            return None, "too many tables"
        rows = database.execute(sql).fetchmany(MAX_ROWS + 1)
        return (rows, None) if len(rows) <= MAX_ROWS else (None, "too many rows")
    except sqlite3.Error as error:
        return None, "timeout" if str(error) == "interrupted" else str(error)
    finally:
        database.set_progress_handler(None, 0)


def describe_result(rows, error):
    """The result as the model sees it: the number of rows and the first two of them, or the error."""
    if error is not None:
        return f"error: {error}"
    preview = "; ".join(", ".join(format_cell(cell) for cell in row) for row in rows[:2])
    return (f"{len(rows)} rows" + (f": {preview}" if preview else ""))[:80]


def format_cell(cell):
    if cell is None:
        return "NULL"
    if isinstance(cell, (int, float)):
        rounded = math.floor(cell * 100 + 0.5) / 100
        return str(int(rounded)) if rounded == int(rounded) else str(rounded)
    return cell if isinstance(cell, str) else "BLOB"


# The reward


def score(database, query, reference):
    """1 if the query returns what the reference returns, else 0. A query that fails or runs too long scores 0."""
    expected, error = run_query(database, reference)
    if error is not None:
        raise ValueError(f"The reference query of this task fails: {error}. Mend the task: {reference}")
    actual, error = run_query(database, query)
    ordered = re.search(r"\border\s+by\b", reference, re.IGNORECASE) is not None
    return 1.0 if error is None and same_result(actual, expected, ordered) else 0.0


def same_result(actual, expected, ordered):
    """Columns by position, floats to a relative 1e-6, order only where it matters."""
    if len(actual) != len(expected):
        return False
    if ordered:
        return all(same_row(a, b) for a, b in zip(actual, expected))
    unmatched = list(actual)
    for row in expected:
        match = next((i for i, candidate in enumerate(unmatched) if same_row(candidate, row)), None)
        if match is None:
            return False
        del unmatched[match]
    return True


def same_row(a, b):
    return len(a) == len(b) and all(same_cell(x, y) for x, y in zip(a, b))


def same_cell(a, b):
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) <= 1e-6 * max(1, abs(a), abs(b))
    return type(a) is type(b) and a == b
