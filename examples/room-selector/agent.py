"""An agent that picks a meeting room: it asks the model, which looks the rooms up with a tool, and scores the room it names.
Standard library only."""

import json
import re
import urllib.request
from pathlib import Path

from agent_trainer import operation, rollout

MAX_TURNS = 4
GAP = 15  # minutes between two meetings in a room
BUILDING = json.loads((Path(__file__).parent / "rooms.json").read_text(encoding="utf-8"))

TOOLS = [{
    "type": "function",
    "function": {
        "name": "get_rooms_and_availability",
        "description": "All rooms with floor, seats and features, and when each is booked on a date.",
        "parameters": {"type": "object", "properties": {"date": {"type": "string", "description": "YYYY-MM-DD"}}, "required": ["date"]},
    },
}]


@rollout
def room_selector(task, llm):
    needs = ", ".join(task["needs"]) or "nothing"
    prompt = f"Find a meeting room on {task['date']} at {task['time']} for {task['duration_min']} minutes and {task['attendees']} people. Needs: {needs}."
    messages = [{"role": "user", "content": prompt}]
    answer = ""
    for _ in range(MAX_TURNS):
        message = ask(llm, messages)
        answer = message.get("content") or ""
        calls = message.get("tool_calls") or []
        if not calls:
            break
        messages.append({"role": "assistant", "content": message.get("content"), "tool_calls": calls})
        for call in calls:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": to_json(get_rooms(call["function"]["arguments"]))})
    return score(task, answer)


@operation("get_rooms_and_availability")
def get_rooms(text):
    """The tool. What the model gets wrong is told to the model."""
    bookings = BUILDING["bookings"].get(date_in(text))
    if bookings is None:
        return {"error": f'There are no bookings for {text}. Give {{"date": "YYYY-MM-DD"}}.'}
    return [{**room, "booked": bookings.get(room["name"], [])} for room in BUILDING["rooms"]]


def date_in(text):
    try:
        return str(json.loads(text)["date"])
    except (ValueError, KeyError, TypeError):
        return None


def ask(llm, messages):
    body = {"model": llm.model, "messages": messages, "tools": TOOLS, **(llm.sampling_parameters or {})}
    request = urllib.request.Request(
        f"{llm.endpoint}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": f"Bearer {llm.api_key or 'none'}"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]


def to_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# The reward


def score(task, answer):
    """Compares the room named in the last line of the answer with the expected one. The reason says what was wrong, not what was right."""
    last_line = (answer.strip().split("\n") or [""])[-1]
    rooms = {room["name"]: room for room in BUILDING["rooms"]}
    named = [name for name in [*rooms, "none"] if re.search(rf"\b{name}\b", last_line, re.IGNORECASE)]
    if len(named) != 1:
        return 0.0, f"The last line of the answer names {' and '.join(named) or 'no room'}. It must name one room, or say none."
    choice = named[0]
    if choice == task["expected"]:
        return 1.0, "Right."
    if choice not in rooms:
        return 0.0, "There is a room that fits."
    faults = faults_of(rooms[choice], task)
    if faults:
        return 0.25 if len(faults) == 1 else 0.0, f"{choice} {'; it '.join(faults)}."
    return 0.5, f"{choice} fits, but the smallest room that fits is taken, and of equal ones the one on the lowest floor."


def faults_of(room, task):
    """Everything that speaks against a room."""
    start = minutes(task["time"])
    end = start + task["duration_min"]
    faults = []
    if room["seats"] < task["attendees"]:
        faults.append(f"has {room['seats']} seats for {task['attendees']} people")
    faults += [f"has no {need}" for need in task["needs"] if need not in room["features"]]
    for booking in BUILDING["bookings"].get(task["date"], {}).get(room["name"], []):
        booked_from, booked_to = map(minutes, booking.split("-"))
        if booked_from < end and start < booked_to:
            faults.append(f"is booked {booking}")
        elif booked_from < end + GAP and start < booked_to + GAP:
            faults.append(f"is booked {booking}, and {GAP} minutes must lie between two meetings")
    return faults


def minutes(time):
    hours, rest = time.split(":")
    return int(hours) * 60 + int(rest)
