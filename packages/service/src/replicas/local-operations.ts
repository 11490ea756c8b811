import type { HttpRequest } from "@heddle/server-stub";
import { tracingOperations } from "@heddle/server-stub/tracing";

/**
 * What every replica works on itself, and asks the stores of its shards for: operations on what is in tracing databases
 * alone. The others have jobs, models, sessions or limits that one process of the installation keeps.
 */
const ids = new Set([
  "callStart",
  "callEnd",
  "callStartBatch",
  "callUpdate",
  "callRead",
  "callsQuery",
  "callsQueryStream",
  "callsQueryStats",
  "callStats",
  "callsUsage",
  "traceUsage",
  "callsPage",
  "callsTail",
  "callsAggregate",
  "callsFields",
  "callsComplete",
  "callStartV2",
  "callEndV2",
  "traceOutline",
  "threadsQueryStream",
  "exportTrace",
  "feedbackCreate",
  "feedbackCreateBatch",
  "feedbackQuery",
  "feedbackStats",
  "objCreate",
  "objRead",
  "objsQuery",
  "refsReadBatch",
  "tableCreate",
  "tableQuery",
  "tableQueryStream",
  "tableQueryStats",
]);

const patterns = tracingOperations()
  .filter(({ id }) => ids.has(id))
  .flatMap(({ method, paths }) => paths.map((path) => `${method.toUpperCase()} ${patternOf(path)}`));
const local = new RegExp(`^(?:${patterns.join("|")})$`);

/** Whether this replica works on a request itself. Other spellings of a path are for the one that works on the rest. */
export function isLocal({ method, target }: HttpRequest): boolean {
  const [path = ""] = target.split("?", 1);
  return local.test(`${method} ${path}`);
}

/** A path of the spec, whose parameters are in braces. */
function patternOf(path: string): string {
  const parts = path.split(/\{[^{}]+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return parts.join("[^/]+");
}
