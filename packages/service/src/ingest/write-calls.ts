import { ItemError, Problem } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import type { CallPart } from "@heddle/trace-model";
import { ItemAccess } from "../access/item-access.js";
import { internalProjects } from "../wire/internal-refs.js";
import { itemDetailOf } from "../problems.js";
import type { Caller, Services } from "../services.js";
import { endOf, startOf, type PartContext } from "../wire/call-parts.js";

/** Who writes, and what makes generated ids the same on every attempt. */
export interface BatchContext {
  caller: Caller;
  retry_id: string | undefined;
}

/** What became of an item: the part that is durable now, or why it was refused. */
export type Outcome = CallPart | ItemError;

/**
 * Stores the good items of a batch and answers for each one, in order. A bad item, also one of a project that the key
 * may not write, never holds up its neighbours; only when no item at all was allowed is the request refused as a whole.
 */
export async function writeBatch<Item extends object>(
  services: Services,
  items: readonly (Item | ItemError)[],
  toPart: (item: Item, context: PartContext) => CallPart,
  { caller, retry_id }: BatchContext,
): Promise<Outcome[]> {
  const projectOf = await internalProjects(services.control, caller, items);
  const outcomes: Outcome[] = [];
  const parts: CallPart[] = [];
  /** Index in the request of each part. */
  const indexes: number[] = [];
  const access = new ItemAccess(services.control, caller);
  for (const [index, item] of items.entries()) {
    if (item instanceof ItemError) {
      outcomes.push(item);
      continue;
    }
    const loc = ["body", "batch", index];
    try {
      const part = toPart(item, { user_id: caller.user_id, retry_id, index, loc, projectOf });
      const refusal = access.refusal(projectIdOf(part));
      if (refusal !== undefined) throw refusal;
      outcomes.push(part);
      parts.push(part);
      indexes.push(index);
    } catch (error) {
      const detail = itemDetailOf(error, loc);
      if (detail === undefined) throw error;
      outcomes.push(new ItemError(detail));
    }
  }
  access.requireSome(items.length);
  for (const rejected of await services.store.ingest(parts)) {
    const index = indexes[rejected.index];
    if (index === undefined) continue;
    outcomes[index] = new ItemError({ loc: ["body", "batch", index], msg: rejected.message, type: "value_error" });
  }
  await access.record(outcomes.flatMap((outcome) => (outcome instanceof ItemError ? [] : [projectIdOf(outcome)])));
  return outcomes;
}

/** Stores one start and answers with its ids, or throws what is wrong with it. */
export async function writeStart(
  services: Services,
  wire: Schemas["StartedCallSchemaForInsert"],
  { caller, retry_id }: BatchContext,
): Promise<{ id: string; trace_id: string }> {
  const projectOf = await internalProjects(services.control, caller, wire);
  const start = startOf(wire, { user_id: caller.user_id, retry_id, index: 0, loc: ["body", "start"], projectOf });
  await writeOne(services, { part: "start", start });
  return { id: start.id, trace_id: start.trace_id };
}

/** Stores one end, or throws what is wrong with it. */
export async function writeEnd(
  services: Services,
  wire: Schemas["EndedCallSchemaForInsert"],
  caller: Caller,
): Promise<void> {
  const projectOf = await internalProjects(services.control, caller, wire);
  const loc = ["body", "end"];
  const end = endOf(wire, { user_id: caller.user_id, retry_id: undefined, index: 0, loc, projectOf });
  await writeOne(services, { part: "end", end });
}

async function writeOne(services: Services, part: CallPart): Promise<void> {
  const [rejected] = await services.store.ingest([part]);
  if (rejected === undefined) return;
  throw Problem.invalid([
    { loc: ["body", part.part === "end" ? "end" : "start"], msg: rejected.message, type: "value_error" },
  ]);
}

const projectIdOf = (part: CallPart): string => (part.part === "end" ? part.end : part.start).project_id;
