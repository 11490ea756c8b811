import { spansPerTrace } from "./exported-traces.js";
import type { RecordedTrace } from "./exported-traces.js";
import type { Peer, Read } from "./peer.js";
import { startPythonServer } from "./python-server.js";

const port = 16_008;
const url = `http://127.0.0.1:${port}`;
const experiment = "0";

interface Traces {
  traces: unknown[];
}

const search = (filter: string | undefined, expected: number) => ({
  path: "/api/3.0/mlflow/traces/search",
  body: {
    locations: [{ type: "MLFLOW_EXPERIMENT", mlflow_experiment: { experiment_id: experiment } }],
    max_results: 50,
    order_by: ["timestamp DESC"],
    ...(filter !== undefined && { filter }),
  },
  count: (response: Traces) => response.traces.length,
  expected,
});

const wholeTrace = ({ traceId }: RecordedTrace): Read => ({
  path: `/api/3.0/mlflow/traces/get?trace_id=tr-${traceId}`,
  method: "GET",
  count: (response: { trace: { spans: unknown[] } }) => response.trace.spans.length,
  expected: spansPerTrace,
});

/** MLflow on SQLite. It lists traces with previews of their inputs and outputs, and has no list of spans. */
export async function startMlflow(directory: string | undefined): Promise<Peer | undefined> {
  const server = await startPythonServer({
    package: "mlflow",
    directory,
    command: (home) =>
      `mlflow server --host 127.0.0.1 --port ${port} --workers 1 --backend-store-uri sqlite:///${home}/mlflow.db --artifacts-destination ${home}`.split(
        " ",
      ),
    env: () => ({ MLFLOW_DISABLE_TELEMETRY: "true" }),
    readyAt: `${url}/health`,
  });
  if (server === undefined) return undefined;
  return {
    name: "MLflow",
    version: server.version,
    url,
    headers: {},
    exports: { path: "/v1/traces", headers: { "x-mlflow-experiment-id": experiment } },
    exportsAtOnce: 1,
    reads: {
      "a new trace": wholeTrace,
      "an old trace": wholeTrace,
      "newest 50 traces": () => search(undefined, 50),
      "newest 50 with errors": () => search("trace.status = 'ERROR'", 50),
    },
    stop: () => server.stop(),
  };
}
