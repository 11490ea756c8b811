import { styleText } from "node:util";
import type { TraceOutlineRes } from "@heddle/client/tracing";
import { visibleLine } from "@heddle/exact-json";
import { cost, count, duration, exceptionLine } from "./format.js";
import { statusColor } from "./status-color.js";
import { shorten, Table } from "./table.js";
import type { Column } from "./table.js";

interface Row {
  /** The lines of the tree in front of the name, and in front of what is written below it. */
  branch: string;
  below: string;
  name: string;
  kind: string;
  status: string;
  offsetMs: number;
  durationMs: number | undefined;
  tokens: number;
  cost: number | null;
  exception: string | undefined;
}

const columns: readonly Column<Row>[] = [
  { title: "CALL", of: ({ branch, name }) => branch + name, least: 20 },
  { title: "KIND", of: ({ kind }) => (kind === "other" ? "" : kind), dispensable: 3 },
  { title: "STATUS", of: ({ status }) => status, color: ({ status }) => statusColor(status) },
  { title: "START", of: ({ offsetMs }) => `+${duration(offsetMs)}`, align: "right", dispensable: 4 },
  { title: "TIME", of: ({ durationMs }) => duration(durationMs), align: "right" },
  { title: "TOKENS", of: ({ tokens }) => (tokens === 0 ? "" : count(tokens)), align: "right", dispensable: 1 },
  { title: "COST", of: (row) => cost(row.cost), align: "right", dispensable: 2 },
];

/** The calls as a tree, each failed one with its exception (by id) in the line below. */
export function traceLines(
  trace: TraceOutlineRes,
  exceptions: ReadonlyMap<string, string>,
  paper: { width: number | undefined; colors: boolean },
): string[] {
  const rows = rowsOf(trace, exceptions);
  const table = new Table(columns, rows, paper);
  const lines = rows.flatMap((row) => [table.line(row), ...(row.exception ? [exceptionOf(row, paper)] : [])]);
  return [table.header(), ...lines];
}

function exceptionOf(
  { below, exception = "" }: Row,
  { width, colors }: { width: number | undefined; colors: boolean },
) {
  const text = visibleLine(`${below}! ${exceptionLine(exception).trim()}`);
  const line = width === undefined ? text : shorten(text, width);
  return colors ? styleText("red", line, { validateStream: false }) : line;
}

function rowsOf(trace: TraceOutlineRes, exceptions: ReadonlyMap<string, string>): Row[] {
  const { ids, parent, start_us, end_us } = trace;
  const first = start_us.reduce((a, b) => Math.min(a, b), Infinity);
  const last = lastOfParents(parent);
  /** In front of the calls below each call. */
  const stems: string[] = [];
  return ids.map((id, at) => {
    const above = parent[at] ?? -1;
    const isLast = last.get(above) === at;
    const stem = above < 0 ? "" : (stems[above] ?? "");
    stems[at] = above < 0 ? "" : `${stem}${isLast ? "   " : "│  "}`;
    const [start = 0, end] = [start_us[at], end_us[at]];
    return {
      branch: above < 0 ? "" : `${stem}${isLast ? "└─ " : "├─ "}`,
      below: `${stems[at]}${last.has(at) ? "│  " : "   "}`,
      name: trace.names[trace.name[at] ?? -1] ?? "",
      kind: trace.kind[at] ?? "other",
      status: trace.status[at] ?? "",
      offsetMs: (start - first) / 1000,
      durationMs: end === null || end === undefined ? undefined : (end - start) / 1000,
      tokens: trace.tokens[at] ?? 0,
      cost: trace.cost?.[at] ?? null,
      exception: exceptions.get(id),
    };
  });
}

/** The last call below each call that is in the lists. */
const lastOfParents = (parent: readonly number[]): ReadonlyMap<number, number> =>
  new Map(parent.map((above, at) => [above, at]));
