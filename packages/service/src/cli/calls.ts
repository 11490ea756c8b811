import { parseArgs } from "node:util";
import { callPages, followCalls } from "@heddle/client/calls";
import type { CallRow, CallsPageReq, Connection } from "@heddle/client/tracing";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";
import { asking, connectRemote, projectOf, remoteUsage } from "./remote.js";
import { selectionOf, selectionOptions, selectionUsage, wholeNumber } from "./selection.js";
import { cost, count, duration, exceptionLine, time } from "./terminal/format.js";
import { jsonLine } from "./terminal/json-line.js";
import { standardOutput } from "./terminal/output.js";
import type { Output } from "./terminal/output.js";
import { statusColor } from "./terminal/status-color.js";
import { Table } from "./terminal/table.js";
import type { Column } from "./terminal/table.js";
import { wholeCalls } from "./whole-calls.js";

const usage = `heddle calls [OPTION]...

Lists calls of a project, the newest first. Times are UTC.

${selectionUsage}
  -n, --limit N     the most calls; default 20
  -f, --follow      the newest last, then each change of a call as it happens, until Ctrl-C
  --json            whole calls, one JSON object in each line, numbers as they were recorded
${remoteUsage}`;

export const command: Command = {
  usage: () => usage,
  run: async (args) => callsCommand(args, process.env, standardOutput(process.env)),
};

const columns: readonly Column<CallRow>[] = [
  { title: "ID", of: ({ id }) => id },
  { title: "STARTED", of: ({ started_at }) => time(started_at), dispensable: 5 },
  { title: "STATUS", of: ({ status = "" }) => status, color: ({ status }) => statusColor(status), least: 7 },
  { title: "NAME", of: ({ name = "" }) => name, least: 12 },
  { title: "TIME", of: ({ latency_ms }) => duration(latency_ms), align: "right", dispensable: 1 },
  { title: "TOKENS", of: ({ tokens }) => count(tokens), align: "right", dispensable: 2 },
  { title: "COST", of: (call) => cost(call.cost), align: "right", dispensable: 3 },
  { title: "ERROR", of: ({ exception }) => exceptionLine(exception ?? ""), least: 16, dispensable: 4 },
];
const select = ["name", "status", "latency_ms", "tokens", "exception"];

/** `heddle calls` */
export async function callsCommand(args: string[], env: NodeJS.ProcessEnv, output: Output): Promise<void> {
  const { values } = readArguments(args);
  const selection = selectionOf(values, usage);
  const limit = wholeNumber("--limit", values.limit, usage);
  const connection = connectRemote(values.url, env);
  await asking(connection, async () => {
    const projectId = await projectOf(connection, values.project);
    const request = values.json
      ? { ...selection, project_id: projectId, select: ["status"] }
      : { ...selection, project_id: projectId, select, include: ["costs" as const] };
    const { calls, seq } = await newest(connection, request, limit);
    if (values.follow) calls.reverse();
    const show = values.json ? wholeLines(connection, projectId, output) : tableLines(calls, output);
    if (calls.length === 0 && !values.follow) output.note(`No call of ${projectId} matches.`);
    await show(calls);
    if (!values.follow) return;
    for await (const event of followCalls(connection, { ...request, after: seq })) {
      if (event.kind === "changed" && event.call !== undefined) await show([event.call]);
      if (event.kind === "gap") output.note("There were more changes than the service keeps; some are left out.");
    }
  });
}

async function newest(connection: Connection<"tracing">, request: CallsPageReq, limit: number) {
  const calls: CallRow[] = [];
  let seq = "0";
  for await (const page of callPages(connection, { ...request, limit: Math.min(limit, 1000) })) {
    // What changes while further pages are read comes after the first one's.
    if (seq === "0") seq = page.seq;
    calls.push(...page.calls.slice(0, limit - calls.length));
    if (calls.length >= limit) break;
  }
  return { calls, seq };
}

function wholeLines(connection: Connection<"tracing">, projectId: string, output: Output) {
  return async (rows: readonly CallRow[]) => {
    const ids = rows.map(({ id }) => id);
    for await (const call of wholeCalls(connection, projectId, ids)) await output.write(jsonLine(call));
  };
}

function tableLines(first: readonly CallRow[], output: Output) {
  const table = new Table(columns, first.length > 0 ? first : [typical], output);
  let hasHeader = false;
  return async (rows: readonly CallRow[]) => {
    if (rows.length === 0) return;
    if (!hasHeader) await output.write(`${table.header()}\n`);
    hasHeader = true;
    for (const row of rows) await output.write(`${table.line(row)}\n`);
  };
}

/** What the widths of columns go by before there is a call. */
const typical: CallRow = {
  id: "019a1b2c-3d4e-7f00-8a1b-2c3d4e5f6071",
  seq: "0",
  started_at: "2026-11-27T09:00:00.000000Z",
  status: "running",
  name: "a name as ops have them",
  latency_ms: 123_000,
  tokens: 100_000,
  cost: 0.00123,
};

function readArguments(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        ...selectionOptions,
        limit: { type: "string", short: "n", default: "20" },
        follow: { type: "boolean", short: "f", default: false },
        json: { type: "boolean", default: false },
        url: { type: "string" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
}
