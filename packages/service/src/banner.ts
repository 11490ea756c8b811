export interface ReadyBanner {
  url: string;
  apiKey: string;
  /** A project that the pasteable lines write into. */
  projectId: string;
  readyMs: number;
}

/** What a start prints: where it listens, the key, and three lines that work when pasted into a shell. */
export function banner({ url, apiKey, projectId, readyMs }: ReadyBanner): string {
  const curl = `curl -s -u api:${apiKey} ${url}`;
  const call = JSON.stringify({
    batch: [
      {
        mode: "start",
        req: {
          start: {
            project_id: projectId,
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
        req: {
          end: {
            project_id: projectId,
            id: "hello",
            ended_at: "2026-01-01T00:00:01Z",
            output: "hello world",
            summary: {},
          },
        },
      },
    ],
  });
  return `Heddle is ready (${(readyMs / 1000).toFixed(1)} s)

  listening on  ${url}
  API key       ${apiKey}
  docs          ${url}/docs

Send a trace, read it back, open the docs:

${curl}/call/upsert_batch -d '${call}'
${curl}/calls/stream_query -d '${JSON.stringify({ project_id: projectId })}'
${process.platform === "darwin" ? "open" : "xdg-open"} ${url}/docs
`;
}
