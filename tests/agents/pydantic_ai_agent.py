"""An agent made with pydantic-ai, served by the framework's own AG-UI adapter; the model is a function.

The last user message chooses what a run does: text, tool, state or slow.
"""
import asyncio
from contextvars import ContextVar

from ag_ui.core import StateDeltaEvent, StateSnapshotEvent
from pydantic_ai import Agent, ToolReturn
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from seen import RUNS, serve, watched

RUN_ID: ContextVar[str] = ContextVar("run_id")


async def model(messages, info: AgentInfo):
    """Stands in for a language model: pieces of text, or a call of one of the tools."""
    with watched(RUN_ID.get()):
        part = messages[-1].parts[-1]
        if part.part_kind == "tool-return":
            yield "It says: "
            yield str(part.content)
        elif part.content == "tool":
            yield {0: DeltaToolCall(name="get_weather", tool_call_id="call-1")}
            for piece in ('{"ci', 'ty":"B', 'ern"}'):
                yield {0: DeltaToolCall(json_args=piece)}
        elif part.content == "state":
            yield {0: DeltaToolCall(name="set_title", tool_call_id="call-2", json_args='{"title":"Zürich ✓"}')}
        elif part.content == "slow":
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
def set_title(title: str) -> ToolReturn:
    """Sets the shared title and adds a step."""
    return ToolReturn(return_value="title set", metadata=[
        StateSnapshotEvent(snapshot={"title": "Draft", "steps": ["one"]}),
        StateDeltaEvent(delta=[{"op": "replace", "path": "/title", "value": title}]),
        StateDeltaEvent(delta=[{"op": "add", "path": "/steps/-", "value": "two"}]),
    ])


async def endpoint(request):
    RUN_ID.set((await request.json())["runId"])
    return await AGUIAdapter.dispatch_request(request, agent=agent)


async def seen(request):
    return JSONResponse(RUNS)


app = Starlette(routes=[Route("/agui", endpoint, methods=["POST"]), Route("/seen", seen)])

if __name__ == "__main__":
    serve(app)
