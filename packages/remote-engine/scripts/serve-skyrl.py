"""Starts SkyRL's Tinker server from an ordinary virtualenv.

The server starts its engine process by repeating the `uv run` command that started itself, which does not exist here, and
its models use `typing.TypedDict`, which pydantic refuses before Python 3.12. Both are replaced before the server starts.
"""

import os
import runpy
import sys
import typing

import typing_extensions

typing.TypedDict = typing_extensions.TypedDict
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def run_engine(arguments):
    sys.argv = ["skyrl.tinker.engine", *arguments]
    runpy.run_module("skyrl.tinker.engine", run_name="__main__")


def run_server(model, checkpoints, database, port):
    import uvicorn
    from skyrl.tinker import api
    from skyrl.tinker.config import EngineConfig, config_to_argv

    def engine_command(_parent, config):
        return [sys.executable, os.path.abspath(__file__), "engine", *config_to_argv(config)]

    api._build_uv_run_cmd_engine = engine_command
    api.app.state.engine_config = EngineConfig.model_validate(
        {
            "base_model": model,
            "backend": "jax",
            "backend_config": {"max_lora_adapters": 4, "max_lora_rank": 8},
            "checkpoints_base": checkpoints,
            "database_url": f"sqlite:///{database}",
        }
    )
    uvicorn.run(api.app, host="127.0.0.1", port=int(port), log_level="warning")


if sys.argv[1] == "engine":
    run_engine(sys.argv[2:])
else:
    run_server(*sys.argv[1:])
