"""What is compared: a proxy's name comes in; how to find, configure, start and stop it goes out.

Each gets one thread, one agent behind it, kept connections, and no buffering: what its manual advises for
event streams. Nothing here measures.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

NAMES = ("tidegate", "haproxy", "nginx")

NGINX = """\
daemon off;
worker_processes 1;
pid {dir}/nginx.pid;
error_log {dir}/nginx.log warn;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path {dir}/body;
    proxy_temp_path {dir}/proxy;
    fastcgi_temp_path {dir}/fastcgi;
    uwsgi_temp_path {dir}/uwsgi;
    scgi_temp_path {dir}/scgi;
    keepalive_requests 1000000;
    upstream agent {{
        server {agent};
        keepalive 512;
        keepalive_requests 1000000;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://agent;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_read_timeout 5m;
        }}
    }}
}}
"""

# Without `http-no-delay` it waits for more to send, and holds a lone event for up to 0.2 s.
HAPROXY = """\
global
    nbthread 1
    maxconn 4096
defaults
    mode http
    option http-no-delay
    timeout connect 3s
    timeout client 5m
    timeout server 5m
frontend clients
    bind 127.0.0.1:{port}
    default_backend agent
backend agent
    server agent {agent}
"""

TIDEGATE = """\
listen = "127.0.0.1:{port}"
agent = "http://{agent}/agui"
threads = 1

[admin]
listen = "127.0.0.1:{admin}"
"""


class Unavailable(Exception):
    """A proxy that is not on this machine; the text says how to get it."""


class Failed(Exception):
    """A proxy or a measurement that did not do what it should; the text says what."""


@dataclass
class Proxy:
    """One kind of proxy, found on this machine."""

    name: str
    binary: str
    version_flag: str
    # Its arguments, in which {config} is the path of its configuration.
    command: list
    # The configuration, in which {port}, {admin}, {agent} and {dir} are filled in.
    config: str
    # What is asked of it, to reach the agent.
    path: str

    def version(self):
        """The version that the binary reports of itself, as in `1.22.1`."""
        words = [self.binary, self.version_flag]
        said = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
        number = re.search(r"\d+\.\d+(\.\d+)?", said.stdout + said.stderr)
        return number.group() if number else "of unknown version"

    def start(self, directory, agent, pin):
        """Starts it in front of `agent`; `pin` is called in the new process. Returns a `Running`."""
        port, admin = free_ports(2)
        config = Path(directory, f"{self.name}.toml" if self.name == "tidegate" else f"{self.name}.conf")
        config.write_text(self.config.format(port=port, admin=admin, agent=agent, dir=directory))
        log = Path(directory, f"{self.name}.out")
        words = [self.binary] + [word.format(config=config) for word in self.command]
        with log.open("wb") as out:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=pin, start_new_session=True
            )
        running = Running(process, f"127.0.0.1:{port}", log)
        try:
            running.wait()
        except BaseException:
            running.stop()
            raise
        return running


class Running:
    """A proxy in flight. `address` is where it listens, `pid` its first process."""

    def __init__(self, process, address, log):
        self.process, self.address, self._log = process, address, log
        self.pid = process.pid

    def wait(self, seconds=10):
        """Returns once it accepts connections."""
        host, port = self.address.split(":")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.process.poll() is not None:
                said = self._log.read_text(errors="replace").strip().splitlines()
                raise Failed(f"exited with {self.process.returncode}: {said[-1] if said else 'no word'}")
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise Failed(f"does not listen after {seconds} s")

    def stop(self):
        """Ends it and all its children: the whole session that was begun for it."""
        end_session(self.process)


def end_session(process, seconds=3):
    """Asks a process that leads its own session to end, and then makes the session end."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    process.wait()


def free_ports(count):
    """Ports of the loopback address that nobody listened on a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def find(name, tidegate):
    """The proxy of that name; `tidegate` gives the path of Tidegate's binary when it is called."""
    if name == "tidegate":
        return Proxy(name, tidegate(), "--version", ["serve", "--config", "{config}"], TIDEGATE, "/")
    # Debian keeps both where only root looks.
    binary = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if binary is None:
        raise Unavailable(f"not installed (apt-get install {name})")
    if name == "nginx":
        return Proxy(name, binary, "-v", ["-c", "{config}"], NGINX, "/agui")
    return Proxy(name, binary, "-v", ["-db", "-f", "{config}"], HAPROXY, "/agui")
