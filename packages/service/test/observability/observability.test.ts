import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTracingClient } from "@heddle/client/tracing";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { runKeys } from "../../src/cli/keys.js";
import { readConfig } from "../../src/config/config.js";
import { startService } from "../../src/boot/start.js";
import type { Running } from "../../src/boot/start.js";
import { shardGaugesOf } from "../../src/observability/shard-gauges.js";
import { openAiLike, startUpstream } from "../upstream.js";
import { startCollector } from "./collector.js";

const ownerKey = "o".repeat(40);
const projectId = "local/watched";
const directory = mkdtempSync(join(tmpdir(), "heddle-observability-"));
const lines: string[] = [];
let collector: Awaited<ReturnType<typeof startCollector>>;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let service: Running;
beforeAll(async () => {
  vi.stubEnv("OTEL_BSP_SCHEDULE_DELAY", "50");
  collector = await startCollector();
  upstream = await startUpstream(openAiLike);
  const provider = { baseUrl: upstream.url, allowPrivate: true, kinds: ["images"], models: ["*"] };
  const config = readConfig({
    HEDDLE_DATA_DIR: directory,
    HEDDLE_PORT: "0",
    HEDDLE_OTLP_GRPC_PORT: "off",
    HEDDLE_API_KEY: ownerKey,
    HEDDLE_LOG: "json",
    HEDDLE_LOG_LEVEL: "debug",
    HEDDLE_METRICS: "127.0.0.1:0",
    HEDDLE_PROVIDERS: JSON.stringify({ painter: provider }),
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=looms%20and%20threads",
    OTEL_SERVICE_NAME: "loom",
  });
  service = await startService(config, { writeLog: (line) => lines.push(line) });
});
afterAll(async () => {
  await service.close();
  await collector.close();
  await upstream.close();
  rmSync(directory, { recursive: true, force: true });
});

const send = (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${service.url}${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { authorization: `Bearer ${ownerKey}`, ...headers },
  });

const start = (id: string) => ({
  start: {
    project_id: projectId,
    id,
    trace_id: id,
    op_name: "weave",
    started_at: "2026-01-01T00:00:00Z",
    attributes: {},
    inputs: {},
  },
});

/** The value of one line of the metrics. */
async function metric(line: string): Promise<number | undefined> {
  const text = await (await fetch(service.metricsUrl ?? "")).text();
  const found = text.split("\n").find((each) => each.startsWith(`${line} `));
  return found === undefined ? undefined : Number(found.slice(line.length + 1));
}

const logged = (id: string | null) =>
  lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line["request_id"] === id);

describe("metrics", () => {
  test("count requests by operation and status, refused and unknown ones too", async () => {
    const count = (operation: string, status: number) =>
      metric(`heddle_http_request_duration_seconds_count{operation="${operation}",status="${status}"}`);
    await send("/call/start", start("counted"));
    await send("/call/start", {});
    await send("/call/start", start("counted"), { authorization: "Bearer no" });
    await send("/graphql", { query: "{ viewer { id } }" });
    await send(`/no/such/${projectId}`, {});
    expect(await count("callStart", 200)).toBe(1);
    expect(await count("callStart", 422)).toBe(1);
    expect(await count("callStart", 401)).toBe(1);
    expect(await count("graphql", 200)).toBe(1);
    expect(await count("none", 404)).toBe(1);
    expect(await metric("heddle_http_requests_in_progress")).toBe(0);
  });

  test("show commits, statements and slots of the trace engine, and its process", async () => {
    const before = (await metric("heddle_ingest_rows_acknowledged_total")) ?? 0;
    const failed = 'heddle_ingest_commit_duration_seconds_count{outcome="failed"}';
    await send("/call/start", start("written"));
    const tracing = createTracingClient({ baseUrl: service.url, apiKey: ownerKey });
    const ids: string[] = [];
    for await (const { id } of tracing.callsQueryStream({ project_id: projectId })) ids.push(id);
    expect(ids).toContain("written");
    expect(await metric("heddle_ingest_rows_acknowledged_total")).toBe(before + 1);
    expect(await metric("heddle_ingest_commit_rows_count")).toBeGreaterThan(0);
    expect(await metric(failed)).toBeUndefined();
    for (const kind of ["read", "insert"]) {
      const line = `heddle_engine_statement_duration_seconds_count{kind="${kind}",outcome="succeeded"}`;
      expect(await metric(line)).toBeGreaterThan(0);
    }
    expect(await metric('heddle_engine_slots{pool="reads"}')).toBe(8);
    expect(await metric('heddle_engine_slots_used{pool="reads"}')).toBe(0);
    expect(await metric("heddle_ingest_queue_rows")).toBe(0);
    expect(await metric("heddle_engine_up")).toBe(1);
    expect(await metric("heddle_engine_restarts_total")).toBe(0);
    expect(await metric("process_cpu_seconds_total")).toBeGreaterThan(0);
    if (process.platform === "linux") expect(await metric("heddle_engine_resident_memory_bytes")).toBeGreaterThan(5e7);
  });

  test("count requests to providers, and jobs that have ended", async () => {
    await send("/image/create", { project_id: projectId, inputs: { model: "gpt-image-1", prompt: "a loom" } });
    const outgoing = 'heddle_outgoing_request_duration_seconds_count{provider="painter",outcome="200"}';
    expect(await metric(outgoing)).toBe(1);
    const tracing = createTracingClient({ baseUrl: service.url, apiKey: ownerKey });
    const obj = { project_id: projectId, object_id: "exact", val: {}, builtin_object_class: "ExactMatchScorer" };
    const { digest } = await tracing.objCreate({ obj });
    const scorer = `weave:///${projectId}/object/exact:${digest}`;
    await tracing.callsScore({ project_id: projectId, call_ids: ["counted"], scorer_refs: [scorer] });
    const ended = 'heddle_jobs_ended_total{kind="score-calls",outcome="succeeded"}';
    await vi.waitFor(async () => expect(await metric(ended)).toBe(1), { timeout: 20_000 });
    expect(await metric('heddle_jobs{kind="score-calls",state="queued"}')).toBeUndefined();
  });

  test("are all that the dashboard for Grafana asks for", async () => {
    const dashboard = readFileSync(new URL("../../deploy/grafana-dashboard.json", import.meta.url), "utf8");
    const { panels } = JSON.parse(dashboard) as { panels: { targets?: { expr: string }[] }[] };
    const names = panels
      .flatMap(({ targets = [] }) =>
        targets.flatMap(({ expr }) => expr.match(/\b(?:heddle|process|nodejs)_\w+/g) ?? []),
      )
      .map((name) => name.replace(/(?<=_(?:seconds|rows|bytes))_(?:bucket|sum|count)$/, ""));
    const text = await (await fetch(service.metricsUrl ?? "")).text();
    const known = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name));
    // Those that replicas with several tracing databases have besides.
    const ofReplicas = new Registry();
    shardGaugesOf({ shards: { places: new Map(), stores: new Map() }, members: { live: () => 1 } }, ofReplicas);
    for (const { name } of ofReplicas.getMetricsAsArray()) known.add(name);
    expect(new Set(names).size).toBeGreaterThan(20);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
    const own = [...known].filter((name) => name?.startsWith("heddle_") === true && name !== "heddle_build_info");
    expect(own.filter((name) => !names.includes(name ?? ""))).toEqual([]);
  });

  test("have an address of their own, without a key, and nothing else is there", async () => {
    const response = await fetch(service.metricsUrl ?? "");
    expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(response.headers.get("x-request-id")).not.toBeNull();
    const elsewhere = (service.metricsUrl ?? "").replace("/metrics", "/call/read");
    expect((await fetch(elsewhere, { method: "POST" })).status).toBe(404);
    expect((await fetch(service.metricsUrl ?? "", { method: "POST" })).status).toBe(405);
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
  });

  test("have labels that no request can add to, and name no project, user or key", async () => {
    await send("/v2/local/secretive/ops", { name: "x" });
    await fetch(`${service.url}/call/read`, { method: "PROPFIND" });
    const text = await (await fetch(service.metricsUrl ?? "")).text();
    const labels = new Set([...text.matchAll(/[{,](\w+)="/g)].map(([, name]) => name));
    const known = [
      "operation",
      "status",
      "kind",
      "outcome",
      "pool",
      "state",
      "version",
      "le",
      "type",
      "space",
      "reason",
    ];
    known.push("provider", "major", "minor", "patch", "quantile");
    expect([...labels].filter((name) => !known.includes(name ?? ""))).toEqual([]);
    expect(text).not.toMatch(/watched|secretive|PROPFIND|oooo/);
  });
});

describe("the log", () => {
  test("has a line for each request with its id, operation, status and key", async () => {
    const started = await send("/call/start", start("logged"));
    await send("/call/read", { project_id: projectId }, { "x-request-id": "mine" });
    await send("/nowhere", {}, { "x-request-id": "lost" });
    const about = { level: "debug", msg: "request", ms: expect.any(Number) };
    expect(logged(started.headers.get("x-request-id"))).toMatchObject([
      { ...about, operation: "callStart", status: 200, key_id: "owner" },
    ]);
    expect(logged("mine")).toMatchObject([{ ...about, operation: "callRead", status: 422, key_id: "owner" }]);
    expect(logged("lost")).toEqual([{ ...about, time: expect.any(String), request_id: "lost", status: 404 }]);
  });

  test("has a request that refers to another key by the id of that key", async () => {
    const printed: string[] = [];
    const config = readConfig({ HEDDLE_DATA_DIR: directory });
    await runKeys(["create", "--user", "ann"], config, (line) => printed.push(line));
    const [id, secret] = ["id", "secret"].map(
      (name) => printed.find((line) => line.startsWith(`${name} `))?.split(/\s+/)[1] ?? "",
    );
    const headers = { authorization: `Bearer ${secret}`, "x-request-id": "of-ann" };
    await send("/call/read", { project_id: projectId, id: "counted" }, headers);
    expect(logged("of-ann")).toMatchObject([{ status: 200, key_id: id }]);
    expect(lines.join("")).not.toContain(secret);
  });
});

describe("traces of the service", () => {
  const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

  test("have a span per request that continues the trace of the client, with the statements below it", async () => {
    const headers = { traceparent: parent, "x-request-id": "traced" };
    await (await send("/calls/stream_query", { project_id: projectId }, headers)).text();
    const ofTrace = () => collector.spans.filter(({ trace_id }) => trace_id === "0af7651916cd43dd8448eb211c80319c");
    await vi.waitFor(() =>
      expect(ofTrace().some(({ parent_span_id }) => parent_span_id === "b7ad6b7169203331")).toBe(true),
    );
    const request = ofTrace().find(({ parent_span_id }) => parent_span_id === "b7ad6b7169203331");
    const attributes = {
      "http.request.method": "POST",
      "http.route": "/calls/stream_query",
      "http.response.status_code": "200",
      "heddle.operation": "callsQueryStream",
      "heddle.request_id": "traced",
    };
    expect(request).toMatchObject({ name: "POST /calls/stream_query", kind: 2, status: 0, attributes });
    const statements = ofTrace().filter(({ parent_span_id }) => parent_span_id === request?.span_id);
    expect(new Set(statements.map(({ name }) => name))).toEqual(new Set(["trace engine read"]));
    expect(collector.resources[0]).toMatchObject({ "service.name": "loom" });
    expect(collector.requests[0]).toMatchObject({ path: "/v1/traces", headers: { "x-tenant": "looms and threads" } });
  });

  test("leave out what the client does not sample, as exports of spans are", async () => {
    const unsampled = parent.replace(/-01$/, "-00").replace("0af7", "1bf7");
    await send("/call/read", { project_id: projectId, id: "x" }, { traceparent: unsampled });
    await send("/call/read", { project_id: projectId, id: "x" }, { traceparent: parent.replace("0af7", "2bf7") });
    await vi.waitFor(() => expect(collector.spans.some(({ trace_id }) => trace_id.startsWith("2bf7"))).toBe(true));
    expect(collector.spans.filter(({ trace_id }) => trace_id.startsWith("1bf7"))).toEqual([]);
    expect(collector.requests.every(({ headers }) => /^00-.*-00$/.test(String(headers["traceparent"])))).toBe(true);
  });
});
