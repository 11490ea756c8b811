/**
 * Runs a program under `opentelemetry-instrument` of Python as PyPI has it, in a virtualenv of its own, with the settings of
 * the guide for gRPC, against a service of its own. Without python3, its venv module or a package index it says so and
 * succeeds.
 *
 *   pnpm python-client
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createTracingClient } from "@heddle/client";
import { freePort } from "@heddle/tools/free-port";
import { openHeddle, ownerKey } from "../faults/heddle-process.js";
import { installPython } from "./python-environment.js";
import type { PythonEnvironment } from "./python-environment.js";

const run = promisify(execFile);
const [distro, exporter] = ["0.66b2", "1.45.2"];
const guide = fileURLToPath(new URL("../../../docs/guides/opentelemetry.md", import.meta.url));

/** Knows nothing of the service, nor of an exporter. */
const program = `
from opentelemetry import trace

tracer = trace.get_tracer("app")
with tracer.start_as_current_span("answer") as answer:
    answer.set_attribute("input.value", "2+2?")
    with tracer.start_as_current_span("chat model"):
        pass
`;

const python = await installPython("opentelemetry", [
  `opentelemetry-distro==${distro}`,
  `opentelemetry-exporter-otlp==${exporter}`,
]);
if (python !== undefined) {
  const port = String(await freePort());
  const heddle = await openHeddle({
    dist: fileURLToPath(new URL("../../dist", import.meta.url)),
    env: { HEDDLE_OTLP_GRPC_PORT: port },
  });
  try {
    console.log(`opentelemetry-instrument ${distro} for Python, over gRPC:`);
    await check(python, heddle.url, settingsOf(port));
  } finally {
    await heddle.remove();
    python.remove();
  }
}

/** The commands of the guide, which run `app.py`, with the port of this run. */
function settingsOf(port: string): string {
  const blocks = readFileSync(guide, "utf8").matchAll(/^```sh\n([^]*?)^```$/gm);
  const found = [...blocks].map(([, text = ""]) => text).find((text) => text.includes("opentelemetry-instrument"));
  assert.ok(found !== undefined && found.includes(":4317"), `${guide} has no settings of opentelemetry-instrument`);
  return found.replace(":4317", `:${port}`);
}

async function check({ directory }: PythonEnvironment, url: string, settings: string): Promise<void> {
  const tracing = createTracingClient({ baseUrl: url, apiKey: ownerKey });
  writeFileSync(join(directory, "app.py"), program);

  /** What the program and its exporter print. */
  async function instrumented(env: Record<string, string> = {}): Promise<string> {
    const { stdout, stderr } = await run("sh", ["-ec", settings], {
      cwd: directory,
      env: {
        PATH: `${join(directory, "venv/bin")}:${process.env["PATH"]}`,
        HOME: directory,
        TMPDIR: directory,
        HEDDLE_API_KEY: ownerKey,
        ...env,
      },
      timeout: 60_000,
    });
    return stdout + stderr;
  }

  /** Rejects unless the project has the spans of one run, one below the other. */
  async function expectTree(projectId: string): Promise<void> {
    const { calls } = await tracing.callsQuery({ project_id: projectId });
    const root = calls.find(({ op_name }) => op_name.includes("/op/answer:"));
    const child = calls.find(({ op_name }) => /\/op\/chat-model--[0-9a-f]{8}:/.test(op_name));
    assert.equal(calls.length, 2, `${projectId} has ${calls.length} calls`);
    assert.ok(root !== undefined && child !== undefined);
    assert.match(JSON.stringify(root.inputs), /2\+2\?/);
    assert.deepEqual([child.parent_id, child.trace_id], [root.id, root.trace_id]);
  }

  assert.equal(await instrumented(), "");
  await expectTree("local/examples");
  console.log("  the settings of the guide record the spans of a program as a tree in the project of the header");

  assert.equal(await instrumented({ OTEL_RESOURCE_ATTRIBUTES: "wandb.entity=acme,wandb.project=python" }), "");
  await expectTree("acme/python");
  console.log("  resource attributes name the project before the header does");

  const printed = await instrumented({
    HEDDLE_API_KEY: "wrong",
    OTEL_RESOURCE_ATTRIBUTES: "wandb.entity=acme,wandb.project=refused",
  });
  assert.match(printed, /StatusCode\.UNAUTHENTICATED.*Unknown or revoked/);
  assert.doesNotMatch(printed, /retrying|Traceback/);
  const { count } = await tracing.callsQueryStats({ project_id: "acme/refused" });
  assert.equal(count, 0);
  console.log("  with a wrong key the exporter prints why, and does not repeat the export");
}
