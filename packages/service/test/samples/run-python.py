"""Runs each program that a line of the input names, and writes a line with what came of it."""

import contextlib
import io
import json
import runpy
import sys

import requests

send = requests.Session.send
statuses = []


def observed(session, request, **options):
    response = send(session, request, **options)
    statuses.append(response.status_code)
    return response


requests.Session.send = observed

for line in sys.stdin:
    statuses.clear()
    output = io.StringIO()
    outcome = {}
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(line.strip())
    except Exception as error:
        outcome["error"] = repr(error)
    outcome |= {"statuses": statuses, "output": output.getvalue()}
    print(json.dumps(outcome), flush=True)
