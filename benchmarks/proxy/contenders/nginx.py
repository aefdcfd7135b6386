"""nginx with one worker, a pool of kept connections, and no buffering in either direction.

Twice: with Debian's buffer sizes, and with a buffer for request bodies in which a large one is read
with few calls, which makes all the difference for images.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from typing import TYPE_CHECKING

from benchmarks.proxy.contenders.protocol import Door, Place
from benchmarks.proxy.machine import HOST, NotMeasured, free_port, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.proxy.contenders.protocol import Site

_CONFIG = """
daemon off;
worker_processes 1;
worker_rlimit_nofile 20000;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 16384; }}
http {{
  access_log off;
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  client_max_body_size 0; {tuning}keepalive_requests 100000000;
  upstream model {{ server {host}:{upstream}; keepalive 512; keepalive_requests 100000000; }}
  server {{
    listen {host}:{port} backlog=4096;
    location / {{
      proxy_pass http://model; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_buffering off; proxy_request_buffering off;
    }}
  }}
}}
"""


LARGE_BODIES = "client_body_buffer_size 256k; "


class Nginx:
    """Debian's nginx, if it is installed."""

    processes = 1

    def __init__(self, name: str, tuning: str = "") -> None:
        """Prepare.

        Args:
            name: Of the contender.
            tuning: More settings.
        """
        self.name = name
        self._tuning = tuning

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[Place]:
        """Start it in the foreground with a configuration of its own."""
        program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
        if program is None:
            raise NotMeasured("not installed (apt-get install nginx-light)")
        port = free_port()
        config = site.folder / "nginx.conf"
        config.write_text(
            _CONFIG.format(
                folder=site.folder, host=HOST, port=port, upstream=site.upstream, tuning=self._tuning
            )
        )
        printed = subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr
        command = (program, "-p", site.folder, "-c", config)
        with running(command, cores=site.cores, log=site.folder / "nginx.log", port=port) as nginx:
            yield Place(nginx, (Door(self.name, port),), printed.strip().rpartition("/")[2])
