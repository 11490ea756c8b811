export interface ReadyBanner {
  url: string;
  /** Where clients reach the service; undefined where the settings do not say it. */
  publicUrl?: string | undefined;
  /** The owner key, or what says where it is. */
  key: ShownKey;
  /** Where the metrics are; undefined where they have no address of their own. */
  metricsUrl?: string | undefined;
  /** The link by which the owner logs in once; undefined where no console is served. */
  consoleLink?: string | undefined;
  /** Where traces of OpenTelemetry are taken over gRPC; undefined where they are not. */
  otlpGrpcUrl?: string | undefined;
  /** Why nothing can be trained, and the remedy; undefined where something can. */
  notTrained?: string | undefined;
  /** A project that the pasteable lines write into. */
  projectId: string;
  readyMs: number;
}

export interface ShownKey {
  /** Printed as the API key. */
  text: string;
  /** The key inside double quotes of a shell. */
  shell: string;
}

/**
 * How the owner key is printed. The key itself is printed on a terminal only: other output is kept in logs. `file` is
 * undefined for a configured key.
 */
export function shownKey(apiKey: string, file: string | undefined, isTerminal: boolean): ShownKey {
  if (file === undefined) return { text: "as in HEDDLE_API_KEY", shell: "$HEDDLE_API_KEY" };
  const quoted = `'${file.replaceAll("'", `'\\''`)}'`;
  return { text: isTerminal ? apiKey : `in ${file}`, shell: `$(cat ${quoted})` };
}

/** What a start prints: where it listens, the key, and three lines that work when pasted into a shell. */
export function banner({
  url,
  publicUrl,
  key,
  metricsUrl,
  consoleLink,
  otlpGrpcUrl,
  notTrained,
  projectId,
  readyMs,
}: ReadyBanner): string {
  const curl = `curl -s -u "api:${key.shell}" ${url}`;
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

  listening on  ${url}${optional("reached at", publicUrl)}
  API key       ${key.text}${optional("console", consoleLink)}
  docs          ${publicUrl ?? url}/docs${optional("metrics", metricsUrl)}${optional("OTLP/gRPC", otlpGrpcUrl)}${optional("no training", notTrained)}

Send a trace, read it back, open the docs:

${curl}/call/upsert_batch -d '${call}'
${curl}/calls/stream_query -d '${JSON.stringify({ project_id: projectId })}'
${process.platform === "darwin" ? "open" : "xdg-open"} ${url}/docs
`;
}

function optional(name: string, value: string | undefined): string {
  return value === undefined ? "" : `\n  ${name.padEnd(14)}${value}`;
}
