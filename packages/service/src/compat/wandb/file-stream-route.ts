import { HeddleError } from "@heddle/errors";
import { Problem, readBody, readCredentials } from "@heddle/server-stub";
import type { HttpRequest, HttpResponse, HttpServer } from "@heddle/server-stub";
import { authenticate } from "../../access/authenticate.js";
import { checkProject } from "../../access/authorize.js";
import { enterRoute } from "../../limits/request-scope.js";
import type { Services } from "../../services.js";

const maxBytes = 32 * 1024 * 1024;
const pathPattern = /^\/+files\/([^/?]+)\/([^/?]+)\/([^/?]+)\/file_stream\/?(?:\?.*)?$/;

/**
 * `POST /files/{entity}/{project}/{run}/file_stream`, with which wandb sends what a run logs; everything else goes on to
 * `next`. Metrics and the summary are kept, the console output and the measurements of the machine are not.
 */
export function fileStreamRoute(
  services: Services,
  onError: (error: unknown) => Problem | undefined,
  next: HttpServer,
): HttpServer {
  return async (request) => {
    const names = pathPattern.exec(request.target)?.slice(1);
    if (names === undefined) return await next(request);
    enterRoute("fileStream", "/files/{entity}/{project}/{run}/file_stream");
    try {
      if (request.method !== "POST") throw new Problem(405, "POST is possible here", { headers: { allow: "POST" } });
      const caller = await authenticate(services.control, readCredentials(request));
      const [entity = "", project = "", name = ""] = names.map(decode);
      const run = { project_id: `${entity}/${project}`, name, created_by: caller.user_id };
      checkProject(caller, "write", run.project_id);
      await store(services, run, await readStream(request));
      return json(200, {});
    } catch (error) {
      const problem = onError(error) ?? new Problem(500, "Internal server error");
      return json(problem.status, { error: problem.message }, problem.headers);
    }
  };
}

interface RunStream {
  files: Record<string, { offset: number; content: string[] }>;
  isComplete: boolean;
  exitCode: number | undefined;
}

async function store(
  { control: { trackingRuns } }: Services,
  run: { project_id: string; name: string; created_by: string },
  { files, isComplete, exitCode }: RunStream,
): Promise<void> {
  if ((await trackingRuns.get(run.project_id, run.name)) === undefined) {
    throw new HeddleError("not_found", `no run ${run.name} in ${run.project_id}`);
  }
  const history = files["wandb-history.jsonl"];
  if (history !== undefined) await trackingRuns.writeHistory(run, history.offset, history.content);
  const summary = files["wandb-summary.json"]?.content.at(-1);
  const state = isComplete ? (exitCode === undefined || exitCode === 0 ? "finished" : "failed") : undefined;
  if (summary === undefined && state === undefined) return;
  await trackingRuns.upsert(run, { ...(summary !== undefined && { summary }), ...(state !== undefined && { state }) });
}

async function readStream(request: HttpRequest): Promise<RunStream> {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder().decode(await readBody(request, maxBytes)));
  } catch (error) {
    if (error instanceof SyntaxError) throw new HeddleError("invalid", "the body must be JSON");
    throw error;
  }
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

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new HeddleError("invalid", "the path has a broken percent-encoding");
  }
}

function json(status: number, body: unknown, headers: Record<string, string> = {}): HttpResponse {
  return {
    status,
    headers: { "content-type": "application/json", "x-content-type-options": "nosniff", ...headers },
    body: JSON.stringify(body),
  };
}
