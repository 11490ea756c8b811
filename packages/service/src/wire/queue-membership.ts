import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Loc } from "@heddle/errors";

/** The field of call queries that is resolved here: calls and queues are in different stores. */
const queueField = "annotation_queue_items.queue_id";

const maxQueues = 20;
/** Calls of all queues that a query names; their ids become parameters of the statement. */
const maxCalls = 10_000;

/**
 * Turns each comparison of a query with ids of queues into one with the ids of their calls. Throws `invalid` for other
 * uses of the field, `too_large` for too many queues or calls.
 */
export async function withQueueMembership<Body extends { project_id: string; query?: unknown }>(
  control: ControlPlane,
  body: Body,
): Promise<Body> {
  if (body.query === undefined) return body;
  const queueIds = new Set<string>();
  rewrite(body.query, ["query"], (ids) => ids.forEach((id) => queueIds.add(id)));
  if (queueIds.size === 0) return body;
  const tooLarge = (what: string) => new HeddleError("too_large", `${queueField} names ${what}`, { loc: ["query"] });
  if (queueIds.size > maxQueues) throw tooLarge(`more than ${maxQueues} queues`);
  const calls = new Map<string, string[]>();
  let left = maxCalls;
  for (const id of queueIds) {
    const found = await control.annotationQueues.callIds(body.project_id, id, left + 1);
    left -= found.length;
    if (left < 0) throw tooLarge(`queues of more than ${maxCalls} calls`);
    calls.set(id, found);
  }
  const query = rewrite(body.query, ["query"], (ids) => {
    const callIds = ids.flatMap((id) => calls.get(id) ?? []);
    return { $in: [{ $getField: "id" }, [...new Set(callIds)].map(($literal) => ({ $literal }))] };
  });
  return { ...body, query };
}

/** A copy of a query in which comparisons of the field are replaced by what `replace` makes of the ids. */
function rewrite(value: unknown, loc: Loc, replace: (queueIds: string[]) => unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown, at) => rewrite(item, [...loc, at], replace));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value);
  const [[operator, content] = ["", undefined]] = members;
  if (operator === "$literal") return value;
  if (members.length === 1 && Array.isArray(content)) {
    const ids = comparedIds(operator, content);
    if (ids !== undefined) return replace(ids);
  }
  if (operator === "$getField" && content === queueField) {
    throw new HeddleError("invalid", `${queueField} can only be compared by $eq or $in with ids of queues`, { loc });
  }
  return Object.fromEntries(members.map(([key, inner]) => [key, rewrite(inner, [...loc, key], replace)]));
}

/** The ids that the field is compared with; undefined for anything else. */
function comparedIds(operator: string, operands: readonly unknown[]): string[] | undefined {
  const [left, right] = operands;
  if (operands.length !== 2) return undefined;
  const side = isQueueField(left) ? right : operator === "$eq" && isQueueField(right) ? left : undefined;
  const literals = operator === "$eq" ? [side] : operator === "$in" && Array.isArray(side) ? (side as unknown[]) : [];
  const ids = literals.map(literalText).filter((id) => id !== undefined);
  return side !== undefined && ids.length === literals.length && (ids.length > 0 || operator === "$in")
    ? ids
    : undefined;
}

function isQueueField(operand: unknown): boolean {
  return member(operand, "$getField") === queueField;
}

function literalText(operand: unknown): string | undefined {
  const literal = member(operand, "$literal");
  return typeof literal === "string" ? literal : undefined;
}

function member(operand: unknown, name: string): unknown {
  return typeof operand === "object" && operand !== null ? (operand as Record<string, unknown>)[name] : undefined;
}
