import { HeddleError, withLoc } from "@heddle/errors";
import type { Loc } from "@heddle/errors";
import { readable } from "@heddle/exact-json";
import { newId } from "@heddle/trace-model";
import type { StoreContext } from "../context.js";
import { StatementError } from "../engine/statement-error.js";
import { findRows, insertFeedback, keyOf, rowOf, sameContent } from "./rows.js";
import type { FeedbackRow, FeedbackWrite } from "./rows.js";
import type { CreatedFeedback, NewFeedback } from "./requests.js";

/** A change of feedback: what to store, and what to remove. Happens as a whole or not at all. */
export interface FeedbackChange {
  create: readonly NewFeedback[];
  /** Where an item of `create` is in the caller's arguments. */
  locOf: (index: number) => Loc;
  remove: readonly { project_id: string; id: string }[];
}

/** A change that waits for its commit. */
export interface PendingChange {
  /** What to store. */
  items: ReadonlyArray<{ row: Omit<FeedbackRow, "created_at">; given: boolean }>;
  remove: FeedbackChange["remove"];
  locOf: FeedbackChange["locOf"];
  bytes: number;
  resolve: (created: CreatedFeedback[]) => void;
  reject: (error: unknown) => void;
}

/** Reads a change. Throws `invalid` for what cannot be stored, and for an id that occurs twice. */
export function pendingItems({ create, locOf }: FeedbackChange): Pick<PendingChange, "items" | "bytes"> {
  const seen = new Set<string>();
  let bytes = 0;
  const items = create.map((feedback, index) => {
    const { id } = feedback;
    const key = JSON.stringify([feedback.project_id, id]);
    if (id !== undefined && seen.has(key)) {
      throw new HeddleError("invalid", `the id ${id} occurs twice`, { loc: [...locOf(index), "id"] });
    }
    seen.add(key);
    bytes += feedback.payload.length;
    return withLoc(locOf(index), () => ({ row: rowOf(feedback, id ?? newId()), given: id !== undefined }));
  });
  return { items, bytes };
}

/**
 * Carries out changes in order, with one insert, and settles each. Nothing else may write feedback meanwhile. When the
 * engine refuses the insert for what a row holds, each change is tried alone.
 */
export async function commitFeedback(context: StoreContext, pending: readonly PendingChange[]): Promise<void> {
  try {
    const { rows, settled } = await planChanges(context, pending);
    await insertFeedback(context.engine, rows);
    for (const { project_id, call_id, id, version } of rows) {
      if (call_id !== "")
        context.changes.publish(project_id, { kind: "feedback", id: call_id, feedback_id: id, version });
    }
    for (const settle of settled) settle();
  } catch (error) {
    if (error instanceof StatementError && pending.length > 1) {
      for (const one of pending) await commitFeedback(context, [one]);
    } else {
      for (const { reject } of pending) reject(error);
    }
  }
}

async function planChanges({ engine, clock }: StoreContext, pending: readonly PendingChange[]) {
  const live = await loadLive(engine, pending);
  /** By key, as one insert holds no key twice. */
  const writes = new Map<string, FeedbackWrite>();
  const settled: Array<() => void> = [];
  for (const { items, remove, locOf, resolve, reject } of pending) {
    const removed = new Map(remove.map((one) => [idKey(one), live.get(idKey(one))]));
    const taken = items.findIndex(({ row }) => {
      const key = idKey(row);
      const known = live.get(key);
      return known !== undefined && !removed.has(key) && !sameContent(row, known);
    });
    if (taken >= 0) {
      const message = `other feedback has the id ${items[taken]?.row.id}`;
      settled.push(() => reject(new HeddleError("conflict", message, { loc: [...locOf(taken), "id"] })));
      continue;
    }
    for (const [key, row] of removed) {
      if (row === undefined) continue;
      writes.set(keyOf(row), { ...row, deleted: true, version: clock.next() });
      live.delete(key);
    }
    const created: CreatedFeedback[] = [];
    for (const { row } of items) {
      let known = live.get(idKey(row));
      if (known === undefined) {
        const version = clock.next();
        known = { ...row, created_at: version };
        writes.set(keyOf(known), { ...known, deleted: false, version });
        live.set(idKey(row), known);
      }
      const payload = readable(known.content.payload, known.exact);
      created.push({ id: known.id, created_at: known.created_at, wb_user_id: known.user_id, payload });
    }
    settled.push(() => resolve(created));
  }
  return { rows: [...writes.values()], settled };
}

/** What the changes may meet: ids that the store has just made are nobody's yet. */
async function loadLive(
  engine: StoreContext["engine"],
  pending: readonly PendingChange[],
): Promise<Map<string, FeedbackRow>> {
  const given = pending.flatMap(({ items, remove }) => [
    ...items.flatMap(({ row, given: isGiven }) => (isGiven ? [row] : [])),
    ...remove,
  ]);
  const wanted = new Map(given.map((key) => [idKey(key), key]));
  const rows = await findRows(engine, [...wanted.values()]);
  return new Map(rows.map((row) => [idKey(row), row]));
}

function idKey({ project_id, id }: { project_id: string; id: string }): string {
  return JSON.stringify([project_id, id]);
}
