import { HeddleError } from "@heddle/errors";
import { reserveForStream } from "../limits/request-scope.js";
import type { KeyedRoute } from "../http/route.js";
import type { WandbServices } from "./wandb-services.js";

/** wandb sends at most 10 MiB of lines at once. */
const limits = { maxBytes: 16 * 1024 * 1024, maxValues: 250_000 };

/**
 * `POST /files/{entity}/{project}/{run}/file_stream`, with which wandb sends what a run logs. Metrics and the summary
 * are kept, the console output and the measurements of the machine are not.
 */
export const fileStreamRoute: KeyedRoute<{ services: WandbServices }> = {
  id: "fileStream",
  paths: ["/files/{entity}/{project}/{run}/file_stream", "/files/{entity}/{project}/{run}/file_stream/"],
  methods: ["POST"],
  access: { right: "write", project: "path" },
  errors: "object",
  open:
    ({ services }) =>
    async ({ http, params: { entity, project, run = "" }, caller, json }) => {
      const named = { project_id: `${entity}/${project}`, name: run, created_by: caller.user_id };
      await store(services, named, streamOf(await json(limits)), http.signal);
      return { status: 200, headers: { "content-type": "application/json" }, body: "{}" };
    },
};

interface RunStream {
  files: Record<string, { offset: number; content: string[] }>;
  isComplete: boolean;
  exitCode: number | undefined;
}

async function store(
  { control: { trackingRuns } }: WandbServices,
  run: { project_id: string; name: string; created_by: string },
  { files, isComplete, exitCode }: RunStream,
  signal: AbortSignal,
): Promise<void> {
  if (!(await trackingRuns.has(run.project_id, run.name))) {
    throw new HeddleError("not_found", `no run ${run.name} in ${run.project_id}`);
  }
  const history = files["wandb-history.jsonl"];
  if (history !== undefined) await trackingRuns.writeHistory(run, history.offset, history.content, signal);
  const summary = files["wandb-summary.json"]?.content.at(-1);
  const state = isComplete ? (exitCode === undefined || exitCode === 0 ? "finished" : "failed") : undefined;
  if (summary === undefined && state === undefined) return;
  const fields = { ...(summary !== undefined && { summary }), ...(state !== undefined && { state }) };
  await trackingRuns.upsert(run, fields, reserveForStream());
}

function streamOf(body: unknown): RunStream {
  const { files, complete, exitcode } = (body ?? {}) as Record<string, unknown>;
  const entries = Object.entries(typeof files === "object" && files !== null ? files : {});
  return {
    files: Object.fromEntries(entries.map(([name, file]) => [name, linesOf(name, file)])),
    isComplete: complete === true,
    exitCode: typeof exitcode === "number" ? exitcode : undefined,
  };
}

function linesOf(name: string, file: unknown): { offset: number; content: string[] } {
  const { offset = 0, content = [] } = (file ?? {}) as Record<string, unknown>;
  const isOffset = typeof offset === "number" && Number.isSafeInteger(offset) && offset >= 0;
  const isContent = Array.isArray(content) && content.every((line): line is string => typeof line === "string");
  if (isOffset && isContent) return { offset, content };
  throw new HeddleError("invalid", "must have an offset and lines of text", { loc: ["files", name] });
}
