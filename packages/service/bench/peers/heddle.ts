import { startServiceProcess } from "../service-process.js";
import { spansPerTrace } from "./exported-traces.js";
import type { RecordedTrace } from "./exported-traces.js";
import type { Peer, Read } from "./peer.js";

const project = "local/peers";
const newest = [{ field: "started_at", direction: "desc" }];

interface Rows {
  calls: unknown[];
}

/** The calls of `/calls/query`, whole. */
const calls = (body: object, expected: number) => ({
  path: "/calls/query",
  body: { project_id: project, sort_by: newest, ...body },
  count: (response: Rows) => response.calls.length,
  expected,
});

const spanById = ({ spanId }: RecordedTrace): Read => ({
  path: "/call/read",
  body: { project_id: project, id: spanId },
  count: (response: { call: { id: string } | null }) => (response.call?.id === spanId ? 1 : 0),
  expected: 1,
});

const wholeTrace = ({ traceId }: RecordedTrace): Read => calls({ filter: { trace_ids: [traceId] } }, spansPerTrace);

/** The service of a built checkout; without one that of this one. */
export async function startHeddle(directory: string | undefined, checkout?: string): Promise<Peer> {
  const service = await startServiceProcess({ directory, checkout });
  return {
    name: checkout === undefined ? "Heddle" : "Heddle before",
    version: checkout ?? "this",
    url: service.url,
    headers: { authorization: `Bearer ${service.key}` },
    exports: { path: "/otel/v1/traces", headers: { project_id: project } },
    exportsAtOnce: 4,
    reads: {
      "a new span by id": spanById,
      "an old span by id": spanById,
      "a new trace": wholeTrace,
      "an old trace": wholeTrace,
      "newest 50 spans": () => calls({ limit: 50 }, 50),
      "newest 50 traces": () => calls({ limit: 50, filter: { trace_roots_only: true } }, 50),
      "newest 50 with errors": () =>
        calls(
          { limit: 50, query: { $expr: { $eq: [{ $getField: "summary.weave.status" }, { $literal: "error" }] } } },
          50,
        ),
      count: (_, spans) => ({
        path: "/calls/query_stats",
        body: { project_id: project },
        count: (response: { count: number }) => response.count,
        expected: spans,
      }),
    },
    stop: () => service.stop(),
  };
}
