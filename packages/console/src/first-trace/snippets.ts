import { shellWord } from "../data/as-curl.js";

export interface Snippet {
  /** As its tab is called. */
  name: string;
  /** What to do, in order: a shell command, or a program under its file name. */
  steps: readonly SnippetStep[];
}

export interface SnippetStep {
  title: string;
  code: string;
}

const quoted = (text: string): string => JSON.stringify(text);
/** How a first call gets from each language into a project of this service. They need the key in `HEDDLE_API_KEY`. */
export function firstTraceSnippets(url: string, projectId: string): Snippet[] {
  const address = shellWord(url);
  return [
    {
      name: "TypeScript",
      steps: [
        {
          title: "In a shell",
          code: `npm install ${shellWord(`${url}/packages/client.tgz`)}\nexport HEDDLE_URL=${address} HEDDLE_PROJECT=${shellWord(projectId)}`,
        },
        {
          title: "first.mjs",
          code: `import { trace } from "@heddle/client/trace";

const greet = trace("greet", async (name) => \`Hello, \${name}\`);
console.log(await greet("Ada"));`,
        },
      ],
    },
    {
      name: "Python",
      steps: [
        {
          title: "In a shell",
          code: `pip install weave\nexport WANDB_BASE_URL=${address} WANDB_API_KEY=$HEDDLE_API_KEY`,
        },
        {
          title: "first.py",
          code: `import weave

weave.init(${quoted(projectId)})


@weave.op
def greet(name: str) -> str:
    return f"Hello, {name}"


print(greet("Ada"))`,
        },
      ],
    },
    {
      name: "OpenTelemetry",
      steps: [
        {
          title: "Where your program that writes spans is started",
          code: `export OTEL_EXPORTER_OTLP_ENDPOINT=${address}
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_HEADERS="wandb-api-key=$HEDDLE_API_KEY,project_id=${encodeURIComponent(projectId)}"
export OTEL_LOGS_EXPORTER=none OTEL_METRICS_EXPORTER=none`,
        },
      ],
    },
    {
      name: "curl",
      steps: [
        {
          title: "In a shell",
          code: `curl -u "api:$HEDDLE_API_KEY" ${address}/call/upsert_batch -d ${shellWord(firstCall(projectId))}`,
        },
      ],
    },
  ];
}

function firstCall(projectId: string): string {
  const id = crypto.randomUUID();
  const started = new Date();
  const start = {
    project_id: projectId,
    id,
    trace_id: id,
    op_name: "greet",
    started_at: started.toISOString(),
    attributes: {},
    inputs: { name: "Ada" },
  };
  const end = {
    project_id: projectId,
    id,
    ended_at: new Date(started.getTime() + 120).toISOString(),
    output: "Hello, Ada",
    summary: {},
  };
  return JSON.stringify(
    {
      batch: [
        { mode: "start", req: { start } },
        { mode: "end", req: { end } },
      ],
    },
    undefined,
    2,
  );
}
