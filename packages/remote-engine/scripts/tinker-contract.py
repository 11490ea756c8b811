"""Prints what the installed Tinker SDK sends and reads, as JSON: the contract that the client and its tests keep.

Routes are read from the calls in its sources, bodies from its types, and messages from the descriptor that it ships.
"""

import importlib.metadata
import json
import pathlib
import re

import tinker
from tinker import types
from tinker.proto import tinker_public_pb2
from tinker.types.future_retrieve_request import FutureRetrieveRequest
from tinker.types.load_weights_request import LoadWeightsRequest
from tinker.types.optim_step_request import AdamParams, OptimStepRequest
from tinker.types.save_weights_external_request import SaveWeightsExternalRequest
from tinker.types.save_weights_external_response import SaveWeightsExternalResponseInternal
from tinker.types.session_heartbeat_request import SessionHeartbeatRequest
from tinker.types.shared.untyped_api_future import UntypedAPIFuture

CALL = re.compile(r"""\.?_?(post|get|delete)\(\s*f?["']/api/v1/([^"']+)["']""")


def routes():
    package = pathlib.Path(tinker.__file__).parent
    found = set()
    for path in package.rglob("*.py"):
        if path.name.endswith("_test.py"):
            continue
        for method, route in CALL.findall(path.read_text()):
            found.add(f"{method.upper()} {re.sub(r'{[^}]*}', '{}', route)}")
    return sorted(found)


def schema(model):
    return model.model_json_schema()


def optim_step():
    """Its parameters have another name on the wire than in the type."""
    written = OptimStepRequest(optim_params=AdamParams(), model_id="m", seq_id=1).model_dump(mode="json")
    (name,) = [key for key, value in written.items() if isinstance(value, dict)]
    base = schema(OptimStepRequest)
    others = {key: value for key, value in base["properties"].items() if key in written}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: schema(AdamParams), **others},
        "required": sorted([name, *(key for key in base["required"] if key in written)]),
    }


def messages():
    return {
        name: {
            field.name: [
                field.number,
                (field.message_type.full_name.removeprefix("tinker_public.") if field.message_type else KINDS[field.type]),
                # Newer releases of protobuf have no label.
                "repeated" if (field.is_repeated if hasattr(field, "is_repeated") else field.label == 3) else "single",
            ]
            for field in message.fields
        }
        for name, message in walk(tinker_public_pb2.DESCRIPTOR.message_types_by_name.items())
    }


def walk(items, prefix=""):
    for name, message in items:
        yield prefix + name, message
        yield from walk(message.nested_types_by_name.items(), f"{prefix}{name}.")


KINDS = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 8: "bool", 9: "string", 12: "bytes", 13: "uint32", 14: "enum"}

print(
    json.dumps(
        {
            "release": importlib.metadata.version("tinker"),
            "routes": routes(),
            "requests": {
                "create_session": schema(types.CreateSessionRequest),
                "session_heartbeat": schema(SessionHeartbeatRequest),
                "create_model": schema(types.CreateModelRequest),
                "load_weights": schema(LoadWeightsRequest),
                "optim_step": optim_step(),
                "save_weights": schema(types.SaveWeightsRequest),
                "save_weights_for_sampler": schema(types.SaveWeightsForSamplerRequest),
                "save_weights_external": schema(SaveWeightsExternalRequest),
                "unload_model": schema(types.UnloadModelRequest),
                "retrieve_future": schema(FutureRetrieveRequest),
            },
            "responses": {
                "accepted": schema(UntypedAPIFuture),
                "load_weights": schema(types.LoadWeightsResponse),
                "save_weights_external": schema(SaveWeightsExternalResponseInternal),
                "external_weights_urls": schema(types.ExternalWeightsUrlsResponse),
                "get_server_capabilities": schema(types.GetServerCapabilitiesResponse),
            },
            "numberTypes": dict(tinker_public_pb2.DType.items()),
            "messages": messages(),
        },
        indent=1,
        sort_keys=True,
    )
)
