"""How each line is measured: a proxy comes in, or none for the direct line; numbers go out.

The load tool measures, in processes of their own for source and sink; this only tells it what to do, and with
whom. Every measurement fails unless each of its runs was exact.
"""

import os
import subprocess

from proxies import Failed, end_session


class Scale:
    """How large a measurement is. Times are in milliseconds."""

    # One event of a paced stream, as fast models speak.
    pace = 20
    # Unpaced: enough streams to keep one thread busy, few enough that they are not the measure.
    unpaced_streams = 12
    # Events in one write of the source: a plain agent writes each by itself; one that is far ahead of the proxy's
    # reader leaves many to be read at once, and only so can the source outrun a proxy that merely copies.
    bursts = (1, 16)

    def __init__(self, quick):
        self.paced_streams = 50 if quick else 200
        self.paced_window = 1200 if quick else 10_000
        self.warm = 200 if quick else 1500
        self.unpaced_window = 600 if quick else 4000
        self.unpaced_events = 5_000 if quick else 20_000
        # Idle: silence long enough for buffers to be let go.
        self.idle_streams = 200 if quick else 3000
        self.hold = 1500 if quick else 8000
        self.settle = 500 if quick else 3000

    @property
    def paced_events(self):
        """Of one run: it outlasts ramp, warm-up and window, also when the machine is slow."""
        return (self.warm + self.paced_window * 11 // 10 + 300) // self.pace

    @property
    def paced_rate(self):
        """Events a second, of all streams, if none is late."""
        return self.paced_streams * 1000 / self.pace


class Cores:
    """Who runs where: the proxy alone on one core, source and sink together on another, if there are two."""

    def __init__(self):
        cores = sorted(os.sched_getaffinity(0))
        self.proxy, self.load = (cores[0], cores[1]) if len(cores) > 1 else (None, None)

    def __str__(self):
        if self.proxy is None:
            return "one core for all: proxy, source and sink disturb each other"
        return f"proxy on core {self.proxy}, source and sink on core {self.load}"

    def pin_proxy(self):
        """To be called in the proxy's process."""
        _pin(self.proxy)

    def pin_load(self):
        """To be called in a process of the load tool."""
        _pin(self.load)


def _pin(core):
    if core is not None:
        os.sched_setaffinity(0, {core})


class Source:
    """The agent behind every proxy, for as long as the `with` lasts."""

    def __init__(self, tool, cores):
        self._process = subprocess.Popen(
            [tool, "source"], stdout=subprocess.PIPE, text=True, preexec_fn=cores.pin_load, start_new_session=True
        )
        line = self._process.stdout.readline().split()
        self.address = line[1] if len(line) == 2 else ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end_session(self._process)


class Meter:
    """Runs the load tool against one address."""

    def __init__(self, tool, cores, scale):
        self._tool, self._cores, self._scale = tool, cores, scale

    def direct(self, source):
        """The line without a proxy: what source and sink can do, and how long they take by themselves."""
        return self._flow(source.address, "/agui", None)

    def through(self, proxy, directory, source):
        """The same with `proxy` between them, and what an idle stream costs. Each part has a fresh process."""
        running = proxy.start(directory, source.address, self._cores.pin_proxy)
        try:
            numbers = self._idle(running.address, proxy.path, running.pid)
        finally:
            running.stop()
        running = proxy.start(directory, source.address, self._cores.pin_proxy)
        try:
            numbers |= self._flow(running.address, proxy.path, running.pid)
        finally:
            running.stop()
        return numbers

    def _flow(self, to, path, pid):
        scale = self._scale
        process = {} if pid is None else {"pid": pid}
        paced = self._run(
            "flow", to=to, path=path, streams=scale.paced_streams, events=scale.paced_events,
            every=scale.pace * 1000, warm=scale.warm, window=scale.paced_window, **process,
        )
        numbers = {
            "cpu": paced.get("cpu_us_per_event"),
            "p50": paced["delay_p50_us"],
            "p99": paced["delay_p99_us"],
            "pace": paced["rate"] / scale.paced_rate,
            "waited": paced.get("waited"),
        }
        for burst in scale.bursts:
            unpaced = self._run(
                "flow", to=to, path=path, streams=scale.unpaced_streams, events=scale.unpaced_events, burst=burst,
                warm=scale.warm, window=scale.unpaced_window, **process,
            )
            numbers |= {f"rate{burst}": unpaced["rate"], f"cpu{burst}": unpaced.get("cpu_us_per_event")}
            if pid is not None:
                # A proxy that waits for a core that others have is as busy as it can be.
                numbers[f"busy{burst}"] = unpaced["busy"] + unpaced["waited"]
                numbers["waited"] = max(numbers["waited"], unpaced["waited"])
        return numbers

    def _idle(self, to, path, pid):
        scale = self._scale
        # Code that runs for the first time, and pools that fill, are no stream's cost.
        self._run("flow", to=to, path=path, streams=8, events=200, warm=0, window=100)
        idle = self._run(
            "idle", to=to, path=path, pid=pid, streams=scale.idle_streams, hold=scale.hold, settle=scale.settle
        )
        return {"idle": idle["kib_per_stream"]}

    def _run(self, command, **arguments):
        words = [self._tool, command, "limit=60"] + [f"{key}={value}" for key, value in arguments.items()]
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=90, preexec_fn=self._cores.pin_load, check=False
            )
        except subprocess.TimeoutExpired:
            raise Failed("the load tool did not end") from None
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            raise Failed(said[-1].removeprefix("loadtool: ") if said else f"exit code {done.returncode}")
        return {key: float(value) for key, value in (line.split(" ", 1) for line in done.stdout.splitlines())}
