import { spansPerTrace } from "./exported-traces.js";
import type { RecordedTrace } from "./exported-traces.js";
import type { Peer, Read } from "./peer.js";
import { startPythonServer } from "./python-server.js";

const port = 16_006;
const url = `http://127.0.0.1:${port}`;

interface Spans {
  data: unknown[];
}
interface Counted {
  data: { projects: { edges: Array<{ node: { name: string; recordCount: number } }> } };
}

const spansOf = (query: string, expected: number) => ({
  path: `/v1/projects/default/spans?${query}`,
  method: "GET" as const,
  count: (response: Spans) => response.data.length,
  expected,
});

const spanById = ({ spanId }: RecordedTrace): Read => spansOf(`span_id=${spanId}`, 1);
const wholeTrace = ({ traceId }: RecordedTrace): Read => spansOf(`trace_id=${traceId}&limit=1000`, spansPerTrace);

/** Arize Phoenix on SQLite, as `phoenix serve` runs it. */
export async function startPhoenix(directory: string | undefined): Promise<Peer | undefined> {
  const server = await startPythonServer({
    package: "arize-phoenix",
    directory,
    command: () => ["phoenix", "serve"],
    env: (home) => ({
      PHOENIX_PORT: String(port),
      PHOENIX_HOST: "127.0.0.1",
      PHOENIX_GRPC_PORT: String(port + 1),
      PHOENIX_WORKING_DIR: home,
      PHOENIX_TELEMETRY_ENABLED: "false",
    }),
    readyAt: `${url}/healthz`,
  });
  if (server === undefined) return undefined;
  return {
    name: "Phoenix",
    version: server.version,
    url,
    headers: {},
    exports: { path: "/v1/traces" },
    exportsAtOnce: 1,
    reads: {
      "a new span by id": spanById,
      "an old span by id": spanById,
      "a new trace": wholeTrace,
      "an old trace": wholeTrace,
      "newest 50 spans": () => spansOf("limit=50", 50),
      "newest 50 traces": () => spansOf("limit=50&parent_id=null", 50),
      "newest 50 with errors": () => spansOf("limit=50&status_code=ERROR", 50),
      count: (_, spans) => ({
        path: "/graphql",
        body: { query: "{ projects { edges { node { name recordCount } } } }" },
        count: (response: Counted) =>
          response.data.projects.edges.find(({ node }) => node.name === "default")?.node.recordCount ?? 0,
        expected: spans,
      }),
    },
    stop: () => server.stop(),
  };
}
