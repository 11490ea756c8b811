export interface Listening {
  url: string;
  api_key: string;
  /** A project that the pasteable lines write into. */
  project_id: string;
  ready_ms: number;
}

/** What a start prints: where it listens, the key, and three lines that work when pasted into a shell. */
export function banner({ url, api_key, project_id, ready_ms }: Listening): string {
  const curl = `curl -s -u api:${api_key} ${url}`;
  const call = JSON.stringify({
    batch: [
      {
        mode: "start",
        req: {
          start: {
            project_id,
            id: "hello",
            trace_id: "hello",
            op_name: "hello",
            started_at: "2026-01-01T00:00:00Z",
            attributes: {},
            inputs: { name: "world" },
          },
        },
      },
      {
        mode: "end",
        req: { end: { project_id, id: "hello", ended_at: "2026-01-01T00:00:01Z", output: "hello world", summary: {} } },
      },
    ],
  });
  return `Heddle is ready (${(ready_ms / 1000).toFixed(1)} s)

  listening on  ${url}
  API key       ${api_key}
  docs          ${url}/docs

Send a trace, read it back, open the docs:

${curl}/call/upsert_batch -d '${call}'
${curl}/calls/stream_query -d '${JSON.stringify({ project_id })}'
${process.platform === "darwin" ? "open" : "xdg-open"} ${url}/docs
`;
}
