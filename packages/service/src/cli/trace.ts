import { parseArgs } from "node:util";
import { callPages } from "@heddle/client/calls";
import { callsQueryStream, traceOutline } from "@heddle/client/tracing";
import type { Connection, TraceOutlineRes } from "@heddle/client/tracing";
import { ConfigError } from "../config/config-error.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";
import { asking, connectRemote, projectOf, remoteUsage } from "./remote.js";
import { wholeNumber } from "./selection.js";
import { cost, count, duration } from "./terminal/format.js";
import { jsonLine } from "./terminal/json-line.js";
import { standardOutput } from "./terminal/output.js";
import type { Output } from "./terminal/output.js";
import { traceLines } from "./terminal/trace-lines.js";
import { wholeCalls } from "./whole-calls.js";

const usage = `heddle trace ID [OPTION]...
heddle trace --last [OPTION]...

Shows a trace as a tree: of each call when it began after the first, how long it took, its tokens, cost and error. ID is
that of the trace, or of a call, which is shown with what is below it.

  --last            the trace that began last, in place of an ID
  -p, --project [ENTITY/]NAME
                    the project; not needed where the key can read one only
  --depth N         only so many levels
  -n, --limit N     the most calls; default 1000
  --json            whole calls in the order of the tree, one JSON object in each line
${remoteUsage}`;

export const command: Command = {
  usage: () => usage,
  run: async (args) => traceCommand(args, process.env, standardOutput(process.env)),
};

/** `heddle trace` */
export async function traceCommand(args: string[], env: NodeJS.ProcessEnv, output: Output): Promise<void> {
  const { id, values } = readArguments(args);
  const limit = Math.min(wholeNumber("--limit", values.limit, usage), 100_000);
  const depth = values.depth === undefined ? {} : { max_depth: wholeNumber("--depth", values.depth, usage) };
  const connection = connectRemote(values.url, env);
  await asking(connection, async () => {
    const projectId = await projectOf(connection, values.project);
    const place = id === undefined ? await lastOf(connection, projectId) : await placeOf(connection, projectId, id);
    const trace = await traceOutline(connection, {
      project_id: projectId,
      ...place,
      ...depth,
      limit,
      include: ["costs"],
    });
    if (values.json) {
      for await (const call of wholeCalls(connection, projectId, trace.ids)) await output.write(jsonLine(call));
    } else {
      const exceptions = await exceptionsOf(connection, projectId, place.trace_id, trace);
      await output.write(`${traceLines(trace, exceptions, output).join("\n")}\n\n${summary(trace)}\n`);
    }
    if (!trace.complete)
      output.note(
        `${count(trace.ids.length)} of ${count(trace.total)} calls are shown: --limit and --depth say how many.`,
      );
  });
}

async function placeOf(connection: Connection<"tracing">, projectId: string, id: string) {
  const query = { $expr: { $or: [isEqual("id", id), isEqual("trace_id", id)] } };
  const columns = ["id", "trace_id"];
  for await (const call of callsQueryStream(connection, { project_id: projectId, query, columns, limit: 1 }))
    return call.trace_id === id ? { trace_id: id } : { trace_id: call.trace_id, root_id: call.id };
  throw new ConfigError(`${projectId} has no trace and no call ${id}. heddle calls lists the calls of a project.`);
}

async function lastOf(connection: Connection<"tracing">, projectId: string): Promise<{ trace_id: string }> {
  const request = { project_id: projectId, filter: { trace_roots_only: true }, columns: ["trace_id"], limit: 1 };
  const newestFirst = [{ field: "started_at", direction: "desc" as const }];
  for await (const { trace_id } of callsQueryStream(connection, { ...request, sort_by: newestFirst }))
    return { trace_id };
  throw new ConfigError(`${projectId} has no trace yet.`);
}

const isEqual = (field: string, value: string): { $eq: [{ $getField: string }, { $literal: string }] } => ({
  $eq: [{ $getField: field }, { $literal: value }],
});

/** The exceptions of failed calls, by their ids. */
async function exceptionsOf(
  connection: Connection<"tracing">,
  projectId: string,
  traceId: string,
  { status }: TraceOutlineRes,
): Promise<ReadonlyMap<string, string>> {
  const exceptions = new Map<string, string>();
  if (!status.includes("error")) return exceptions;
  const request = {
    project_id: projectId,
    filter: { trace_ids: [traceId] },
    query: { $expr: isEqual("summary.weave.status", "error") },
    select: ["exception"],
    limit: 1000,
  };
  for await (const { calls } of callPages(connection, request))
    for (const { id, exception = "" } of calls) exceptions.set(id, exception);
  return exceptions;
}

function summary({ ids, start_us, end_us, tokens, cost: costs = [], status }: TraceOutlineRes): string {
  const sum = (values: readonly (number | null)[]) => values.reduce<number>((total, value) => total + (value ?? 0), 0);
  const first = start_us.reduce((a, b) => Math.min(a, b), Infinity);
  const last = end_us.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
  const failed = status.filter((each) => each === "error").length;
  const parts = [
    `${count(ids.length)} ${ids.length === 1 ? "call" : "calls"}`,
    end_us.includes(null) ? "running" : duration((last - first) / 1000),
    `${count(sum(tokens))} tokens`,
    costs.some((each) => each !== null) ? `cost ${cost(sum(costs))}` : "",
    failed === 0 ? "" : `${count(failed)} failed`,
  ];
  return parts.filter(Boolean).join(", ");
}

function readArguments(args: string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        project: { type: "string", short: "p" },
        last: { type: "boolean", default: false },
        depth: { type: "string" },
        limit: { type: "string", short: "n", default: "1000" },
        json: { type: "boolean", default: false },
        url: { type: "string" },
      },
    });
    const [id, ...more] = positionals;
    if (values.last ? id !== undefined : !id || more.length > 0)
      throw new TypeError("the id of one trace or call is needed (heddle calls), or --last");
    return { id, values };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
}
