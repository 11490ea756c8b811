/**
 * What clients need of a proxy in front of the service. `proxies.ts` runs it in a process of its own, because Node.js reads
 * NODE_EXTRA_CA_CERTS at the start.
 */
import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { createTracingClient, createTrainingClient } from "@heddle/client";
import { ExportResultCode } from "@opentelemetry/core";
import type { ExportResult } from "@opentelemetry/core";
import { OTLPTraceExporter as GrpcTraceExporter } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

const { HEDDLE_URL: baseUrl = "", HEDDLE_API_KEY: apiKey = "", HEDDLE_STALL_SECONDS: stall = "" } = process.env;
const tracing = createTracingClient({ baseUrl, apiKey });
const training = createTrainingClient({ baseUrl, apiKey });
const newProject = () => `proxies/${randomUUID()}`;
const authorization = `Bearer ${apiKey}`;

/** Rejects unless the condition holds within ten seconds. */
async function eventually(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if (await condition()) return;
    await delay(100);
  }
  throw new Error(`not within ten seconds: ${what}`);
}

async function callsOf(projectId: string) {
  const calls = [];
  for await (const call of tracing.callsQueryStream({ project_id: projectId })) calls.push(call);
  return calls;
}

/** Far more than client, proxy and kernel keep while nothing is read. */
const [streamedCalls, streamedBytes] = [80, 1_000_000];

async function writeLongStream(projectId: string): Promise<void> {
  for (let written = 0; written < streamedCalls; written += 20) {
    const batch = Array.from({ length: 20 }, (_, index) => ({
      project_id: projectId,
      id: `${written + index}`,
      trace_id: "long",
      op_name: "long",
      started_at: new Date().toISOString(),
      ended_at: new Date().toISOString(),
      attributes: {},
      inputs: { text: randomBytes((streamedBytes * 3) / 4).toString("base64") },
      output: null,
      summary: {},
    }));
    await tracing.callsComplete({ entity: "proxies", project: projectId.slice("proxies/".length), batch });
  }
}

/** Streams a completion that takes a while, recorded in this project of the default entity. */
function streamChat(project: string, { headers, signal }: Pick<RequestInit, "signal"> & { headers?: object }) {
  return fetch(`${baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", "openai-project": project, ...headers },
    body: JSON.stringify({
      model: "heddle/starter",
      messages: [{ role: "user", content: "hi" }],
      stream: true,
      max_completion_tokens: 900,
      ignore_eos: true,
    }),
    signal,
  });
}

/** Sends a span over gRPC, which has no prefix, as exporters do that are set up by variables of the environment. */
async function exportOverGrpc(key: string, projectId: string, name: string): Promise<ExportResult> {
  process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = new URL(baseUrl).origin;
  process.env["OTEL_EXPORTER_OTLP_HEADERS"] = `wandb-api-key=${key},project_id=${encodeURIComponent(projectId)}`;
  const exporter = new GrpcTraceExporter();
  const memory = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(memory)] });
  provider.getTracer("proxies").startSpan(name).end();
  const result = await new Promise<ExportResult>((resolve) => exporter.export(memory.getFinishedSpans(), resolve));
  await exporter.shutdown();
  return result;
}

const checks: Record<string, () => Promise<void>> = {
  async "a long stream of JSON Lines arrives whole, and is not collected while the client does not read"() {
    const projectId = newProject();
    await writeLongStream(projectId);
    assert.equal((await callsOf(projectId)).length, streamedCalls);

    const response = await fetch(`${baseUrl}/calls/stream_query`, {
      method: "POST",
      headers: { authorization },
      body: JSON.stringify({ project_id: projectId }),
    });
    const reader = response.body!.getReader();
    assert.ok((await reader.read()).value);
    // The service disconnects a client that reads nothing. Behind a proxy that collects, it does not notice.
    await delay(1000 * (Number(stall) + 3));
    let received = 0;
    await assert.rejects(async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) received += next.value.length;
    });
    assert.ok(received < streamedCalls * streamedBytes);
  },

  async "the first server-sent event arrives while the rest is being generated, and the id of the request is kept"() {
    const project = randomUUID();
    const response = await streamChat(project, { headers: { "x-request-id": "from-the-client" } });
    assert.equal(response.headers.get("content-type")?.split(";")[0], "text/event-stream");
    assert.equal(response.headers.get("x-request-id"), "from-the-client");
    const reader = response.body!.getReader();
    await reader.read();
    // A completion is recorded when it has ended.
    assert.deepEqual(await callsOf(`local/${project}`), []);
    while (!(await reader.read()).done);
    await eventually(async () => (await callsOf(`local/${project}`)).length === 1, "the completion is recorded");
    assert.equal((await callsOf(`local/${project}`))[0]?.exception, null);
  },

  async "a client that disconnects stops what is being generated for it"() {
    const project = randomUUID();
    const leave = new AbortController();
    const response = await streamChat(project, { signal: leave.signal });
    await response.body!.getReader().read();
    leave.abort();
    await eventually(async () => (await callsOf(`local/${project}`)).length === 1, "the completion is recorded");
    const [call] = await callsOf(`local/${project}`);
    assert.ok(call?.exception, "the completion has ended as aborted");
  },

  async "a body of 100 MB is stored as it was sent"() {
    const body = randomBytes(100_000_000);
    const response = await fetch(`${baseUrl}/v1/artifact-contents/proxies/files`, {
      method: "POST",
      headers: { authorization, "content-type": "application/octet-stream" },
      body,
    });
    const { sha256 } = (await response.json()) as { sha256: string };
    assert.equal(sha256, createHash("sha256").update(body).digest("hex"));
  },

  async "spans of an OpenTelemetry exporter arrive in the project that its header names"() {
    const projectId = newProject();
    const exporter = new OTLPTraceExporter({
      url: `${baseUrl}/otel/v1/traces`,
      headers: { "wandb-api-key": apiKey, project_id: projectId },
    });
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    provider.getTracer("proxies").startSpan("through a proxy").end();
    await provider.shutdown();
    const calls = await callsOf(projectId);
    assert.match(calls.map(({ op_name }) => op_name).join(), /^weave:[^,]*\/op\/through-a-proxy--[0-9a-f]{8}:[^,]*$/);
  },

  async "spans of an exporter for gRPC arrive likewise, and it gets the status of gRPC of those that are refused"() {
    const projectId = newProject();
    // Far more than a proxy collects of a request before it looks for a response.
    for (const length of [10, 2_000_000]) {
      const refused = await exportOverGrpc("wrong", projectId, "x".repeat(length));
      assert.match(String(refused.error), /UNAUTHENTICATED.*Unknown or revoked/);
    }
    assert.deepEqual(await exportOverGrpc(apiKey, projectId, "over gRPC"), { code: ExportResultCode.SUCCESS });
    const calls = await callsOf(projectId);
    assert.match(calls.map(({ op_name }) => op_name).join(), /^weave:[^,]*\/op\/over-gRPC--[0-9a-f]{8}:[^,]*$/);
  },

  async "errors of the service are passed on with their bodies"() {
    await assert.rejects(training.getModel({ model_id: randomUUID() }), { name: "HeddleApiError", status: 404 });
    const response = await fetch(`${baseUrl}/call/read`, { method: "POST", body: "{}" });
    assert.equal(response.status, 401);
    assert.match(await response.text(), /detail|reason/);
  },

  async "the docs open, also by the address without a slash"() {
    const response = await fetch(`${baseUrl}/docs`);
    assert.equal(response.url, `${baseUrl}/docs/`);
    assert.match(await response.text(), /<title>/);
  },
};

for (const [name, check] of Object.entries(checks)) {
  await check();
  console.log(`  ${name}`);
}
