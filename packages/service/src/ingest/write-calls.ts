import { mainThread } from "@heddle/concurrency";
import type { Caller, ControlPlane } from "@heddle/control-plane";
import { HeddleError, withLoc } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import { ItemError } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";
import type { CallPart } from "@heddle/trace-model";
import type { TraceStore } from "@heddle/trace-store";
import { ItemAccess } from "../access/item-access.js";
import { internalProjects } from "../wire/internal-refs.js";
import { itemDetailOf } from "../http/problems.js";
import { endOf, startOf } from "../wire/call-parts.js";
import type { PartContext } from "../wire/call-parts.js";

/** The caller, and the id that makes generated ids the same on every attempt. */
export interface BatchContext {
  caller: Caller;
  retryId: string | undefined;
}

/** How the items of a batch are read. */
export interface ItemReader<Item> {
  /** Path to the call inside the item. */
  locOf: (item: Item) => Loc;
  /** Errors have a loc relative to the call. */
  partOf: (item: Item, context: PartContext) => CallPart;
}

/** The outcome of an item: the part that is durable now, or why it was rejected. */
export type ItemOutcome = CallPart | ItemError;

/** After so long, other requests get the event loop. The clock is read once per so many items. */
const sliceMs = 4;
const itemsPerClockCheck = 64;

interface CallStores {
  control: ControlPlane;
  store: TraceStore;
}

/**
 * Stores the good items of a batch and returns an outcome for each one, in order. A bad item, also one of a project
 * that the key may not write, does not affect the others; the whole request is refused only when no item was allowed.
 */
export async function writeBatch<Item extends object>(
  services: CallStores,
  items: readonly (Item | ItemError)[],
  { locOf, partOf }: ItemReader<Item>,
  { caller, retryId }: BatchContext,
): Promise<ItemOutcome[]> {
  const projectOf = await internalProjects(services.control, caller, items);
  const outcomes: ItemOutcome[] = [];
  const parts: CallPart[] = [];
  /** Index in the request of each part. */
  const indexes: number[] = [];
  const access = new ItemAccess(services.control, caller);
  let since = performance.now();
  for (const [index, item] of items.entries()) {
    if (index % itemsPerClockCheck === itemsPerClockCheck - 1 && performance.now() - since > sliceMs) {
      await mainThread.giveWay();
      since = performance.now();
    }
    if (item instanceof ItemError) {
      outcomes.push(item);
      continue;
    }
    try {
      const context = { userId: caller.user_id, retryId, index, projectOf };
      const part = withLoc(["batch", index, ...locOf(item)], () => {
        const read = partOf(item, context);
        const refusal = access.refusal(projectIdOf(read));
        if (refusal !== undefined) throw refusal;
        return read;
      });
      outcomes.push(part);
      parts.push(part);
      indexes.push(index);
    } catch (error) {
      const detail = itemDetailOf(error, ["body", "batch", index]);
      if (detail === undefined) throw error;
      outcomes.push(new ItemError(detail));
    }
  }
  access.requireSome(items.length);
  for (const rejected of await services.store.ingest(parts)) {
    const index = indexes[rejected.index];
    const item = index === undefined ? undefined : items[index];
    if (index === undefined || item === undefined || item instanceof ItemError) continue;
    const loc = ["body", "batch", index, ...(rejected.field === undefined ? [] : [...locOf(item), rejected.field])];
    outcomes[index] = new ItemError({ loc, msg: rejected.message, type: "value_error" });
  }
  await access.record(outcomes.flatMap((outcome) => (outcome instanceof ItemError ? [] : [projectIdOf(outcome)])));
  return outcomes;
}

/** Stores one start and returns its ids. Throws when it is invalid. */
export async function writeStart(
  services: CallStores,
  wire: Schemas["StartedCallSchemaForInsert"],
  { caller, retryId }: BatchContext,
): Promise<{ id: string; trace_id: string }> {
  const projectOf = await internalProjects(services.control, caller, wire);
  const context = { userId: caller.user_id, retryId, index: 0, projectOf };
  const start = withLoc(["start"], () => startOf(wire, context));
  await writeOne(services.store, { part: "start", start });
  return { id: start.id, trace_id: start.trace_id };
}

/** Stores one end. Throws when it is invalid. */
export async function writeEnd(
  services: CallStores,
  wire: Schemas["EndedCallSchemaForInsert"],
  caller: Caller,
): Promise<void> {
  const projectOf = await internalProjects(services.control, caller, wire);
  const context = { userId: caller.user_id, retryId: undefined, index: 0, projectOf };
  const end = withLoc(["end"], () => endOf(wire, context));
  await writeOne(services.store, { part: "end", end });
}

async function writeOne(store: TraceStore, part: CallPart): Promise<void> {
  const [rejected] = await store.ingest([part]);
  if (rejected === undefined) return;
  const { field, message } = rejected;
  const loc = [part.part === "end" ? "end" : "start", ...(field === undefined ? [] : [field])];
  throw new HeddleError("unprocessable", message, { loc });
}

const projectIdOf = (part: CallPart): string => (part.part === "end" ? part.end : part.start).project_id;
