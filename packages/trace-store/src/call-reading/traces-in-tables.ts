import { Parameters } from "../engine/parameters.js";
import { StatementError } from "../engine/statement-error.js";
import { compileSortedCalls, timeDirection } from "../query/call-query.js";
import { newestBy } from "../schema/newest-by.js";
import { briefly, briefReader, lengthOf } from "../stored-calls/brief.js";
import type { BriefRow } from "../stored-calls/brief.js";
import { visibleCalls } from "../visibility/visible-calls.js";
import { isInTableOrder, pageRows } from "./page.js";
import type { PageRow } from "./row-source.js";
import { fetchBytes, wholeListSettings } from "./statements.js";
import type { CallList } from "./statements.js";
import { inTableOrder } from "./table-order.js";

type TraceRow = BriefRow & { version: string };

/** Of a result that is larger than `max_result_bytes`. */
const tooLarge = 396;

/**
 * All calls of a list of traces by one statement, sorted here: to sort a few takes the engine as long as to find them. Undefined
 * when they are many or large.
 */
export async function tracesInTables(list: CallList): Promise<PageRow[] | undefined> {
  const { plan, byId, select, engine, signal } = list;
  if (!plan.filter.trace_ids?.length || byId !== undefined) return undefined;
  if (!isInTableOrder(plan) || plan.seek !== undefined) return undefined;
  const settings = { ...wholeListSettings, max_result_bytes: String(fetchBytes) };
  const rows = await engine
    .rows<TraceRow>(() => statement(list), { signal, settings })
    .catch((error: unknown) => {
      if (error instanceof StatementError && error.number === tooLarge) return undefined;
      throw error;
    });
  if (rows === undefined || rows.length > pageRows) return undefined;
  const read = briefReader(select);
  const calls = [...newestBy(rows, ({ id }) => id).values()].map((row) => ({
    id: row.id,
    version: BigInt(row.version),
    started_at: BigInt(row.started_us),
    bytes: lengthOf(row),
    whole: read(row),
  }));
  return inTableOrder(calls, timeDirection(plan));
}

function statement({ plan, scope: now, byId, select }: CallList) {
  const [p, scope] = [new Parameters(), now()];
  const { conditions } = compileSortedCalls(plan, scope, p, byId);
  const columns = new Set(["id", "version", "toUnixTimestamp64Micro(started_at) AS started_us", ...briefly(select)]);
  return { sql: visibleCalls(scope, p, { ...conditions, select: [...columns], limit: pageRows + 1 }), params: p };
}
