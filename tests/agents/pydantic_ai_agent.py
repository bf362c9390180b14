"""An agent made with pydantic-ai, served by the framework's own AG-UI adapter; the model is a function.

The last user message chooses what a run does: text, tool, frontend (a call of a tool that the request brings),
state, think, error or slow. Runs with pydantic-ai 0.8 and with 2.
"""
import asyncio
from contextvars import ContextVar

import pydantic_ai
from ag_ui.core import EventType, StateDeltaEvent, StateSnapshotEvent
from pydantic_ai import Agent
from pydantic_ai.messages import ToolReturn
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from seen import RUNS, serve, watched

try:
    from pydantic_ai.ui.ag_ui import AGUIAdapter
except ImportError:  # before 1.0
    from pydantic_ai.ag_ui import handle_ag_ui_request

    AGUIAdapter = None

RUN_ID: ContextVar[str] = ContextVar("run_id")
OURS = ("get_weather", "set_title")


def word(content):
    """What was said, of a text or of parts."""
    return content if isinstance(content, str) else next(part for part in content if isinstance(part, str))


async def model(messages, info: AgentInfo):
    """Stands in for a language model: pieces of text, or a call of one of the tools."""
    with watched(RUN_ID.get()):
        part = messages[-1].parts[-1]
        if part.part_kind == "tool-return":
            yield "It says: "
            yield str(part.content)
            return
        said = word(part.content)
        theirs = [tool.name for tool in info.function_tools if tool.name not in OURS]
        if said == "tool":
            yield {0: DeltaToolCall(name="get_weather", tool_call_id="call-1")}
            for piece in ('{"ci', 'ty":"B', 'ern"}'):
                yield {0: DeltaToolCall(json_args=piece)}
        elif said == "frontend" and theirs:
            yield {0: DeltaToolCall(name=theirs[0], tool_call_id="call-3", json_args='{"text":"Go on?"}')}
        elif said == "state":
            yield {0: DeltaToolCall(name="set_title", tool_call_id="call-2", json_args='{"title":"Zürich ✓"}')}
        elif said == "think":
            yield {0: DeltaThinkingPart(content="Let me ")}
            yield {0: DeltaThinkingPart(content="think.")}
            yield "I have "
            yield "thought."
        elif said == "error":
            yield "About to "
            yield "fail"
            raise RuntimeError("the model failed")
        elif said == "slow":
            for number in range(600):
                await asyncio.sleep(0.05)
                yield f"{number} "
        else:
            for piece in ("Grüezi", ", ", "日本 👋"):
                await asyncio.sleep(0.005)
                yield piece


agent = Agent(FunctionModel(stream_function=model))


@agent.tool_plain
def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"rain in {city}"


@agent.tool_plain
def set_title(title: str):
    """Sets the shared title and adds a step."""
    events = [
        StateSnapshotEvent(type=EventType.STATE_SNAPSHOT, snapshot={"title": "Draft", "steps": ["one"]}),
        StateDeltaEvent(type=EventType.STATE_DELTA, delta=[{"op": "replace", "path": "/title", "value": title}]),
        StateDeltaEvent(type=EventType.STATE_DELTA, delta=[{"op": "add", "path": "/steps/-", "value": "two"}]),
    ]
    # Before 1.0 the events are what the tool returns.
    return events if pydantic_ai.__version__.startswith("0.") else ToolReturn(return_value="title set", metadata=events)


async def endpoint(request):
    RUN_ID.set((await request.json())["runId"])
    if AGUIAdapter is None:
        return await handle_ag_ui_request(agent, request)
    return await AGUIAdapter.dispatch_request(request, agent=agent)


async def seen(request):
    return JSONResponse(RUNS)


app = Starlette(routes=[Route("/agui", endpoint, methods=["POST"]), Route("/seen", seen)])

if __name__ == "__main__":
    serve(app)
