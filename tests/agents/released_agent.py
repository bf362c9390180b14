"""An agent made with a released ag-ui-protocol and nothing else; $SDK names the folder it is installed in.

It reads a request only as that release's RunAgentInput does, else it answers 422, and says everything that
release has events for, through its own encoder. GET /seen tells what it read, by run.
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.path.insert(0, os.environ["SDK"])
from ag_ui.core import RunAgentInput, events  # noqa: E402
from ag_ui.encoder import EventEncoder  # noqa: E402
from pydantic import ValidationError  # noqa: E402

SEEN: dict[str, object] = {}


def event(kind, **members):
    """One event as a list, or none where the release has no such event."""
    name = "".join(word.capitalize() for word in kind.split("_")) + "Event"
    if not hasattr(events, name):
        return []
    return [getattr(events, name)(type=events.EventType[kind], **members)]


def reasoning_start():
    """The start of a reasoning message, with the only role that the release allows."""
    try:
        return event("REASONING_MESSAGE_START", message_id="reason-1", role="reasoning")
    except ValidationError:
        return event("REASONING_MESSAGE_START", message_id="reason-1", role="assistant")


def told(body):
    """All that an agent of this release can say in one run."""
    yield from event("RUN_STARTED", thread_id=body.thread_id, run_id=body.run_id)
    yield from event("CUSTOM", name="nothing", value=None)
    yield from event("RAW", event=None, source="model")
    yield from event("STATE_SNAPSHOT", snapshot=None)
    yield from event("THINKING_START", title="Plan")
    yield from event("THINKING_TEXT_MESSAGE_START")
    yield from event("THINKING_TEXT_MESSAGE_CONTENT", delta="Let me ")
    yield from event("THINKING_TEXT_MESSAGE_CONTENT", delta="think.")
    yield from event("THINKING_TEXT_MESSAGE_END")
    yield from event("THINKING_END")
    yield from event("REASONING_START", message_id="reason-1")
    yield from reasoning_start()
    yield from event("REASONING_MESSAGE_CONTENT", message_id="reason-1", delta="Because.")
    yield from event("REASONING_MESSAGE_END", message_id="reason-1")
    yield from event("REASONING_END", message_id="reason-1")
    yield from event("TEXT_MESSAGE_START", message_id="text-1", role="assistant")
    yield from event("TEXT_MESSAGE_CONTENT", message_id="text-1", delta="Grüezi")
    yield from event("TEXT_MESSAGE_END", message_id="text-1")
    yield from event("STEP_STARTED", step_name="look")
    yield from event("TOOL_CALL_START", tool_call_id="call-1", tool_call_name="look", parent_message_id="text-1")
    yield from event("TOOL_CALL_ARGS", tool_call_id="call-1", delta='{"at":1}')
    yield from event("TOOL_CALL_END", tool_call_id="call-1")
    yield from event("TOOL_CALL_RESULT", message_id="result-1", tool_call_id="call-1", content="seen")
    yield from event("STEP_FINISHED", step_name="look")
    yield from event("ACTIVITY_SNAPSHOT", message_id="activity-1", activity_type="PLAN", content={"done": 1})
    yield from event("STATE_SNAPSHOT", snapshot={"title": "Draft", "none": None})
    yield from event("STATE_DELTA", delta=[{"op": "replace", "path": "/title", "value": "Zürich ✓"}])
    yield from event("TEXT_MESSAGE_CHUNK", message_id="text-2", role="assistant", delta="Bye")
    yield from event("RUN_FINISHED", thread_id=body.thread_id, run_id=body.run_id)


class Handler(BaseHTTPRequestHandler):
    """POST runs, GET tells what was read."""

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, "application/json", json.dumps(SEEN).encode())

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"]))
        try:
            body = RunAgentInput.model_validate_json(text)
        except ValidationError as error:
            self.answer(422, "application/json", error.json(include_url=False, include_input=False).encode())
            return
        SEEN[body.run_id] = body.model_dump(by_alias=True, exclude_none=True, mode="json")
        encoder = EventEncoder(accept=self.headers.get("accept"))
        self.answer(200, encoder.get_content_type(), "".join(map(encoder.encode, told(body))).encode())

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
