"""Portkey's gateway from npm, on Node."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from typing import TYPE_CHECKING

from benchmarks.proxy.contenders.protocol import Door, Place
from benchmarks.proxy.machine import HOST, NotMeasured, free_port, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.proxy.contenders.protocol import Site

_INSTALL_S = 600
_PACKAGE = "@portkey-ai/gateway"

# With the versions of this dependency that npm would choose, every streamed answer is a 500:
# Portkey-AI/gateway#1389.
_MANIFEST = json.dumps({"private": True, "overrides": {"@hono/node-server": "1.13.8"}})


class Portkey:
    """The gateway with one Node process."""

    name = "portkey"
    processes = 1

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[Place]:
        """Install it if that has not been done, and start it."""
        node = shutil.which("node")
        if node is None:
            raise NotMeasured("it needs Node, which is not installed (apt-get install nodejs npm)")
        folder = site.cache / "portkey"
        _install(folder)
        package = folder / "node_modules" / _PACKAGE
        port = free_port()
        headers = {
            "x-portkey-provider": "openai",
            "x-portkey-custom-host": f"http://{HOST}:{site.upstream}/v1",
        }
        command = (node, package / "build" / "start-server.js", f"--port={port}", "--headless")
        log = site.folder / "portkey.log"
        with running(
            command, cores=site.cores, log=log, port=port, env={"NODE_ENV": "production"}
        ) as program:
            version = json.loads((package / "package.json").read_text())["version"]
            yield Place(program, (Door("Portkey", port, headers=headers),), version)


def _install(folder: Path) -> None:
    done = folder / "installed"
    if done.exists() and done.read_text() == _MANIFEST:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise NotMeasured("it needs npm, which is not installed (apt-get install npm)")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(_MANIFEST)
    print(f"  installing {_PACKAGE} from npm", flush=True)
    command = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", _PACKAGE]
    try:
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=_INSTALL_S)
    except subprocess.CalledProcessError as error:
        printed = error.stderr.decode(errors="replace").strip().splitlines()
        raise NotMeasured(f"cannot be installed: {printed[-1][:200] if printed else error}") from error
    except subprocess.TimeoutExpired as error:
        raise NotMeasured(f"not installed within {_INSTALL_S} s") from error
    done.write_text(_MANIFEST)
