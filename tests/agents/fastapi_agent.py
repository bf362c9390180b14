"""An agent without a framework: FastAPI and the event encoder of ag-ui-protocol.

The last user message chooses what a run does: text, tool, state or slow.
"""
import asyncio

from ag_ui import core
from ag_ui.encoder import EventEncoder
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from seen import RUNS, serve, watched

app = FastAPI()


def text(message_id, pieces):
    """The events of one assistant message."""
    yield core.TextMessageStartEvent(message_id=message_id, role="assistant")
    for piece in pieces:
        yield core.TextMessageContentEvent(message_id=message_id, delta=piece)
    yield core.TextMessageEndEvent(message_id=message_id)


def tool():
    """A tool that the agent runs itself, and an answer that uses its result."""
    yield core.ToolCallStartEvent(tool_call_id="call-1", tool_call_name="get_weather")
    for piece in ('{"ci', 'ty":"B', 'ern"}'):
        yield core.ToolCallArgsEvent(tool_call_id="call-1", delta=piece)
    yield core.ToolCallEndEvent(tool_call_id="call-1")
    yield core.ToolCallResultEvent(message_id="result-1", tool_call_id="call-1", content="rain in Bern", role="tool")
    yield from text("answer-2", ["It says: ", "rain in Bern"])


def state():
    """Shared state: the whole of it, then two changes."""
    yield core.StateSnapshotEvent(snapshot={"title": "Draft", "steps": ["one"]})
    yield core.StateDeltaEvent(delta=[{"op": "replace", "path": "/title", "value": "Zürich ✓"}])
    yield core.StateDeltaEvent(delta=[{"op": "add", "path": "/steps/-", "value": "two"}])
    yield from text("answer-3", ["Done."])


async def slow():
    """Text that goes on for half a minute unless somebody stops it."""
    yield core.TextMessageStartEvent(message_id="answer-4", role="assistant")
    for number in range(600):
        await asyncio.sleep(0.05)
        yield core.TextMessageContentEvent(message_id="answer-4", delta=f"{number} ")
    yield core.TextMessageEndEvent(message_id="answer-4")


async def run(request: core.RunAgentInput):
    ids = {"thread_id": request.thread_id, "run_id": request.run_id}
    yield core.RunStartedEvent(**ids)
    word = request.messages[-1].content
    if word == "slow":
        async for event in slow():
            yield event
    else:
        plan = {"tool": tool, "state": state}.get(word, lambda: text("answer-1", ["Grüezi", ", ", "日本 👋"]))
        for event in plan():
            await asyncio.sleep(0.005)
            yield event
    yield core.RunFinishedEvent(**ids)


@app.post("/agui")
async def endpoint(body: core.RunAgentInput, request: Request):
    encoder = EventEncoder(accept=request.headers.get("accept"))

    async def stream():
        with watched(body.run_id):
            async for event in run(body):
                yield encoder.encode(event)

    return StreamingResponse(stream(), media_type=encoder.get_content_type())


@app.get("/seen")
async def seen():
    return RUNS


if __name__ == "__main__":
    serve(app)
