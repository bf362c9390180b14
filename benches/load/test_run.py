"""The whole comparison, with a plain relay in the place of Tidegate: faithful, broken, or not starting at all."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import proxies
import table

RUN = Path(__file__).with_name("run")

# Understands the configuration that Tidegate gets, and passes bytes; what it replaces is filled in.
RELAY = """\
#!{python}
import asyncio, os, re, sys
if "--version" in sys.argv:
    sys.exit(print("relay 9.8.7"))
open("{pids}", "a").write(f"{{os.getpid()}}\\n")
config = open(sys.argv[sys.argv.index("--config") + 1]).read()
port = re.search(r'listen = "127.0.0.1:(\\d+)"', config).group(1)
agent = re.search(r'http://127.0.0.1:(\\d+)', config).group(1)

async def pump(reader, writer):
    while data := await reader.read(65536):
        writer.write(data.replace({old!r}, {new!r}))
        await writer.drain()
    writer.close()

async def serve(reader, writer):
    up = await asyncio.open_connection("127.0.0.1", agent)
    await asyncio.gather(pump(reader, up[1]), pump(up[0], writer), return_exceptions=True)

async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", port, backlog=1024) as server:
        await server.serve_forever()

asyncio.run(main())
"""


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.pids = self.folder / "pids"

    def relay(self, old=b"", new=b""):
        path = self.folder / "relay"
        # Replacing an empty text would insert at every byte.
        old = old or b"\0"
        path.write_text(RELAY.format(python=sys.executable, pids=self.pids, old=old, new=new))
        path.chmod(0o755)
        return str(path)

    def command(self, binary, *more):
        return [str(RUN), "--quick", "--only", "tidegate", "--binary", binary, *more]

    def run_it(self, binary, *more):
        return subprocess.run(self.command(binary, *more), capture_output=True, text=True, timeout=300, check=False)

    def assert_nothing_left(self):
        for pid in map(int, self.pids.read_text().split()):
            with self.assertRaises(ProcessLookupError, msg=f"{pid} still runs"):
                os.kill(pid, 0)

    def test_a_faithful_relay_is_measured(self):
        done = self.run_it(self.relay(), "--markdown")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        head, _, *lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
        self.assertIn("Tidegate 9.8.7", head)
        self.assertEqual(len(lines), len(table.LINES))
        lines = {cells[1].strip(): cells[2].strip() for cells in (line.split("|") for line in lines)}
        self.assertGreater(float(lines["CPU an event, paced (µs)"]), 1)
        self.assertGreater(float(lines["memory an idle stream (KiB)"]), 1)
        self.assert_nothing_left()

    def test_a_relay_that_loses_the_end_of_runs_fails(self):
        done = self.run_it(self.relay(b"RUN_FINISHED", b"RUN_VANISHED"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("FAILED", done.stdout)
        self.assertIn("RUN_VANISHED", done.stdout)
        self.assert_nothing_left()

    def test_a_proxy_that_does_not_start_fails(self):
        done = self.run_it("/bin/false")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Tidegate FAILED: exited with 1", done.stdout)

    def test_a_proxy_that_is_not_installed_says_how_to_get_it(self):
        with mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(proxies.Unavailable, "apt-get install haproxy"):
                proxies.find("haproxy", None)

    def test_what_was_started_ends_with_a_run_that_is_stopped(self):
        process = subprocess.Popen(self.command(self.relay()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 200
        while not self.pids.exists() or not self.pids.read_text().strip():
            self.assertLess(time.monotonic(), until, "it never started the proxy")
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 130)
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
