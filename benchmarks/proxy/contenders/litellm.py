"""LiteLLM's proxy from PyPI: its OpenAI-compatible route, and its pass-through of the same requests."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.proxy.contenders.protocol import CHAT, Door, Place
from benchmarks.proxy.machine import HOST, NotMeasured, free_port, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.proxy.contenders.protocol import Site

_INSTALL_S = 900
_THROUGH = "/through"

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    # No keys to look up: the other contenders do not check any either.
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
}


class LiteLLM:
    """LiteLLM with one worker, in an environment of its own."""

    name = "litellm"
    processes = 1

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[Place]:
        """Install it if that has not been done, and start it."""
        folder = site.cache / "litellm"
        _install(folder)
        port = free_port()
        base = f"http://{HOST}:{site.upstream}"
        settings = {
            "model_list": [
                {
                    "model_name": "m",
                    "litellm_params": {"model": "openai/m", "api_base": f"{base}/v1", "api_key": "none"},
                }
            ],
            "general_settings": {
                "pass_through_endpoints": [
                    {"path": _THROUGH, "target": base + CHAT, "headers": {"content-type": "application/json"}}
                ]
            },
        }
        config = site.folder / "litellm.yaml"
        # JSON is YAML.
        config.write_text(json.dumps(settings))
        command = (folder / "bin" / "litellm", "--config", config, "--host", HOST, "--port", str(port))
        log = site.folder / "litellm.log"
        with running(
            command, cores=site.cores, log=log, port=port, cwd=site.folder, env=_ENVIRONMENT
        ) as program:
            doors = (Door("LiteLLM", port), Door("LiteLLM pass-through", port, _THROUGH))
            yield Place(program, doors, _version(folder))


def _install(folder: Path) -> None:
    done = folder / "installed"
    if done.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    print("  installing litellm[proxy] from PyPI", flush=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, capture_output=True)
        subprocess.run([*pip, "litellm[proxy]"], check=True, capture_output=True, timeout=_INSTALL_S)
    except subprocess.CalledProcessError as error:
        printed = error.stderr.decode(errors="replace").strip().splitlines()
        raise NotMeasured(f"cannot be installed: {printed[-1][:200] if printed else error}") from error
    except subprocess.TimeoutExpired as error:
        raise NotMeasured(f"not installed within {_INSTALL_S} s") from error
    done.touch()


def _version(folder: Path) -> str:
    ask = "import importlib.metadata as m; print(m.version('litellm'))"
    done = subprocess.run(
        [str(folder / "bin" / "python"), "-c", ask], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
