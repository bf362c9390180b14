"""What became of each run, as the agent saw it: the tests ask at GET /seen.

A run is `running`, then `finished`, `cancelled` (the client went away) or `failed`.
"""
import asyncio
import os
from contextlib import contextmanager

RUNS: dict[str, str] = {}


@contextmanager
def watched(run_id: str):
    """Notes how the block that makes the events of a run was left."""
    RUNS[run_id] = "running"
    try:
        yield
    except (asyncio.CancelledError, GeneratorExit):
        RUNS[run_id] = "cancelled"
        raise
    except BaseException:
        RUNS[run_id] = "failed"
        raise
    else:
        RUNS[run_id] = "finished"


def serve(app):
    """Serves `app` on 127.0.0.1 at the port that $PORT names."""
    import uvicorn

    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["PORT"]), log_level="warning", access_log=False)
