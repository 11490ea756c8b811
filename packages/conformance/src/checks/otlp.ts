import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { CheckFailure } from "../exchange.js";
import type { Exchange } from "../exchange.js";
import type { Operation } from "../contract.js";
import { encodeSpan } from "../otlp-protobuf.js";
import { checkError, checkResponse } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

const json = "application/json";
const protobuf = "application/x-protobuf";

interface Export {
  body: string | Uint8Array<ArrayBuffer>;
  type: string;
  headers?: Record<string, string>;
  /** Value of the header `project_id`. */
  project?: string;
}

/** Exports in each encoding of the OpenTelemetry protocol are stored, and what cannot be is reported. */
export function otlpCases(operation: Operation, fixture: Fixture): Case[] {
  if (operation.id !== "exportTrace") return [];
  const { schemas } = operation;
  const { projectId } = fixture.own;
  const newTrace = () => randomBytes(16).toString("hex");
  const send = ({ body, type, headers = {}, project }: Export) =>
    fixture.send(operation, { body, mediaType: type, params: { project_id: project } }, { headers });
  const stored = (name: string, build: (traceId: string) => Export): Case => ({
    name,
    run: async () => {
      const traceId = newTrace();
      const sent = build(traceId);
      const exchange = await send(sent);
      const value = checkResponse(operation, exchange, schemas, [200]);
      expectMediaType(exchange, sent.type);
      if (sent.type === json) expectRejected(value, exchange, 0);
      await expectStored(fixture, traceId, exchange);
    },
  });
  const refused = (name: string, status: number, sent: Export): Case => ({
    name,
    run: async () => void checkError(operation, await send(sent), schemas, status),
  });
  const text = (traceId: string, project = projectId) => JSON.stringify(exportOf(project, [spanOf(traceId)]));
  const bytes = (traceId: string) => encodeSpan({ projectId, traceId, spanId: randomBytes(8).toString("hex") });
  const gzip = { "content-encoding": "gzip" };
  return [
    stored("OTLP as JSON", (traceId) => ({ body: text(traceId), type: json })),
    stored("OTLP as JSON, gzip", (traceId) => ({ body: compressed(text(traceId)), type: json, headers: gzip })),
    stored("OTLP as protobuf", (traceId) => ({ body: bytes(traceId), type: protobuf })),
    stored("OTLP as protobuf, gzip", (traceId) => ({
      body: compressed(bytes(traceId)),
      type: protobuf,
      headers: gzip,
    })),
    stored("OTLP, project of the header", (traceId) => ({ body: text(traceId, ""), type: json, project: projectId })),
    {
      name: "OTLP, one of two spans refused",
      run: async () => {
        const traceId = newTrace();
        const spans = [spanOf(traceId), { ...spanOf(newTrace()), spanId: "0".repeat(16) }];
        const exchange = await send({ body: JSON.stringify(exportOf(projectId, spans)), type: json });
        expectRejected(checkResponse(operation, exchange, schemas, [200]), exchange, 1);
        await expectStored(fixture, traceId, exchange);
      },
    },
    refused("OTLP without a project", 400, { body: text(newTrace(), ""), type: json }),
    refused("OTLP of another media type", 415, { body: text(newTrace()), type: "text/plain" }),
    refused("OTLP that is not protobuf", 400, { body: new Uint8Array([0xff, 0xff, 0xff]), type: protobuf }),
  ];
}

function compressed(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(gzipSync(body));
}

function spanOf(traceId: string) {
  return {
    traceId,
    spanId: randomBytes(8).toString("hex"),
    name: "chat",
    kind: 3,
    startTimeUnixNano: "1775811600000000000",
    endTimeUnixNano: "1775811601250000000",
    attributes: [{ key: "gen_ai.request.model", value: { stringValue: "gpt-4o-mini" } }],
    status: { code: 1 },
  };
}

/** An export of spans of a project; without one the resource names none. */
function exportOf(projectId: string, spans: readonly object[]) {
  const [entity = "", project = ""] = projectId.split("/");
  const named = [
    { key: "wandb.entity", value: { stringValue: entity } },
    { key: "wandb.project", value: { stringValue: project } },
  ];
  const resource = { attributes: projectId === "" ? [] : named };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: "conformance" }, spans }] }] };
}

function expectMediaType(exchange: Exchange, expected: string): void {
  const type = exchange.headers.get("content-type")?.split(";")[0];
  if (type === expected) return;
  throw new CheckFailure(`content-type ${type}`, { expected: `${expected}, as of the request`, exchange });
}

function expectRejected(value: unknown, exchange: Exchange, expected: number): void {
  const { partialSuccess } = value as { partialSuccess?: { rejectedSpans?: string | number } };
  const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
  if (rejected === expected) return;
  throw new CheckFailure(`rejectedSpans ${rejected}`, { expected: `rejectedSpans ${expected}`, exchange });
}

async function expectStored(fixture: Fixture, traceId: string, exchange: Exchange): Promise<void> {
  const reader = fixture.operation("callsQuery");
  const reading = await fixture.send(reader, {
    body: { project_id: fixture.own.projectId, filter: { trace_ids: [traceId] } },
  });
  const { calls } = checkResponse(reader, reading, reader.schemas, [reader.success]) as { calls: unknown[] };
  if (calls.length === 1) return;
  throw new CheckFailure(`${calls.length} calls of the trace`, { expected: "one call for the span", exchange });
}
