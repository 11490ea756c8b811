import { ItemError, Problem } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import type { CallPart } from "@heddle/trace-model";
import { allowWrite } from "../access.js";
import { internalProjects } from "../internal-refs.js";
import { itemDetailOf } from "../problems.js";
import type { Caller, Services } from "../services.js";
import { endOf, startOf, type PartContext } from "./call-parts.js";

/** Where a request's items stand in its body, and what makes their ids the same on every attempt. */
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
  const places: number[] = [];
  let forbidden = 0;
  for (const [index, item] of items.entries()) {
    if (item instanceof ItemError) {
      outcomes.push(item);
      continue;
    }
    const loc = ["body", "batch", index];
    try {
      const part = toPart(item, { user_id: caller.user_id, retry_id, index, loc, projectOf });
      await allowWrite(services.control, caller, projectIdOf(part));
      outcomes.push(part);
      parts.push(part);
      places.push(index);
    } catch (error) {
      const detail = itemDetailOf(error, loc);
      if (detail === undefined) throw error;
      if (detail.type === "forbidden") forbidden += 1;
      outcomes.push(new ItemError(detail));
    }
  }
  if (items.length > 0 && forbidden === items.length) throw new Problem(403, "Forbidden");
  for (const { index, message } of await services.store.ingest(parts)) {
    const place = places[index];
    if (place === undefined) continue;
    outcomes[place] = new ItemError({ loc: ["body", "batch", place], msg: message, type: "value_error" });
  }
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
  await writeOne(services, caller, { part: "start", start });
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
  await writeOne(services, caller, { part: "end", end });
}

async function writeOne(services: Services, caller: Caller, part: CallPart): Promise<void> {
  await allowWrite(services.control, caller, projectIdOf(part));
  const [rejected] = await services.store.ingest([part]);
  if (rejected === undefined) return;
  throw Problem.invalid([
    { loc: ["body", part.part === "end" ? "end" : "start"], msg: rejected.message, type: "value_error" },
  ]);
}

const projectIdOf = (part: CallPart): string => (part.part === "end" ? part.end : part.start).project_id;
