import { HeddleError } from "@heddle/errors";
import { StatementError } from "../engine/statement-error.js";
import type { StoreContext } from "../context.js";
import { Parameters } from "../engine/parameters.js";
import type { Draft } from "./draft.js";
import { headKey, isLatestOfName, loadHeads, noHead, otherHeadKey } from "./heads.js";
import type { Head, Heads } from "./heads.js";
import type { CreatedObject, ObjectKind } from "./requests.js";
import { insertObjects } from "./rows.js";
import type { ObjectRow } from "./rows.js";
import { inProject } from "./versions.js";
import { newestRows } from "../schema/read-table.js";

/** A create that waits for its commit. */
export interface PendingCreate {
  draft: Draft;
  resolve: (created: CreatedObject) => void;
  reject: (error: unknown) => void;
}

/** What a live version keeps when it is published again. */
type Kept = Pick<ObjectRow, "version_index" | "created_at" | "user_id">;

/** What a draft that is the latest version already comes to, without asking the engine; undefined when it must ask. */
export function alreadyLatest(heads: Heads, draft: Draft): CreatedObject | undefined {
  const head = heads.get(headKey(draft));
  const other = heads.get(otherHeadKey(draft));
  if (head === undefined || other === undefined || !isLatestOfName(head, other, draft.digest)) return undefined;
  return { digest: draft.digest, object_id: draft.object_id, version_index: head.latest_index };
}

/**
 * Creates versions of one project in order, with one insert, and settles each. Nothing else may write objects
 * meanwhile. When the engine refuses the insert for what a row holds, each is tried alone.
 */
export async function commitCreates(
  context: StoreContext,
  heads: Heads,
  pending: readonly PendingCreate[],
): Promise<void> {
  try {
    const plan = await planCreates(context, heads, pending);
    await insertObjects(context.engine, plan.rows);
    for (const [key, head] of plan.heads) heads.set(key, head);
    for (const settle of plan.settled) settle();
  } catch (error) {
    for (const { draft } of pending) heads.forget(headKey(draft));
    if (error instanceof StatementError && pending.length > 1) {
      for (const one of pending) await commitCreates(context, heads, [one]);
    } else {
      for (const { reject } of pending) reject(error);
    }
  }
}

async function planCreates({ engine, clock }: StoreContext, known: Heads, pending: readonly PendingCreate[]) {
  const projectId = pending[0]?.draft.project_id ?? "";
  const drafts = pending.map(({ draft }) => draft);
  const heads = new Map<string, Head>();
  const unknown = new Set<string>();
  for (const draft of drafts) {
    for (const key of [headKey(draft), otherHeadKey(draft)]) {
      const head = known.get(key);
      if (head === undefined) unknown.add(draft.object_id);
      else heads.set(key, head);
    }
  }
  const loaded = unknown.size === 0 ? [] : await loadHeads(engine, projectId, [...unknown]);
  for (const [key, head] of loaded) heads.set(key, head);
  const live = await loadLive(
    engine,
    projectId,
    drafts.filter((draft) => heads.get(headKey(draft))?.latest_digest !== undefined),
  );

  const rows: ObjectRow[] = [];
  const settled: Array<() => void> = [];
  for (const { draft, resolve, reject } of pending) {
    const head = heads.get(headKey(draft)) ?? noHead;
    if (head.base_class !== undefined && head.base_class !== draft.base_class) {
      settled.push(() => reject(collision(draft, head.base_class ?? "")));
      continue;
    }
    const versionKey = `${headKey(draft)}\n${draft.digest}`;
    let versionIndex = head.latest_index;
    if (!isLatestOfName(head, heads.get(otherHeadKey(draft)) ?? noHead, draft.digest)) {
      const version = clock.next();
      const fresh: Kept = { version_index: head.last_index + 1, created_at: version, user_id: draft.user_id };
      const kept = live.get(versionKey) ?? fresh;
      versionIndex = kept.version_index;
      rows.push({ ...draft, ...kept, published_at: version, version });
      live.set(versionKey, kept);
      heads.set(headKey(draft), {
        last_index: Math.max(head.last_index, versionIndex),
        base_class: draft.base_class,
        latest_digest: draft.digest,
        latest_index: versionIndex,
        published_at: version,
      });
    }
    settled.push(() => resolve({ digest: draft.digest, object_id: draft.object_id, version_index: versionIndex }));
  }
  return { rows, heads, settled };
}

/** The live versions that the drafts would make again. */
async function loadLive(
  engine: StoreContext["engine"],
  projectId: string,
  drafts: readonly Draft[],
): Promise<Map<string, Kept>> {
  if (drafts.length === 0) return new Map();
  const p = new Parameters();
  const sql = `SELECT kind, object_id, digest, version_index, user_id, toUnixTimestamp64Micro(created_at) AS created_us
    FROM ${newestRows("objects")} WHERE ${inProject(p, projectId)}
      AND ${p.in("object_id", "String", [...new Set(drafts.map(({ object_id }) => object_id))])}
      AND ${p.in("digest", "String", [...new Set(drafts.map(({ digest }) => digest))])}
      AND deleted_at IS NULL`;
  interface Row {
    kind: ObjectKind;
    object_id: string;
    digest: string;
    version_index: number;
    user_id: string;
    created_us: string;
  }
  const live = new Map<string, Kept>();
  for (const { version_index, user_id, created_us, ...key } of await engine.rows<Row>({ sql, params: p })) {
    const kept = { version_index, user_id, created_at: BigInt(created_us) };
    live.set(`${headKey({ ...key, project_id: projectId })}\n${key.digest}`, kept);
  }
  return live;
}

function collision({ object_id, kind, base_class }: Draft, existing: string): HeddleError {
  const message =
    `${object_id} cannot become ${describe(base_class)}: in this project the name belongs to ${describe(existing)}. ` +
    "All versions of a name have one class; publish this one under another name.";
  return new HeddleError("invalid", message, {
    details: {
      object_id,
      kind,
      object_name: object_id,
      new_base_object_class: base_class || null,
      existing_base_object_classes: [existing || null],
    },
  });
}

function describe(className: string): string {
  if (className === "") return "an object without a class";
  return `${/^[AEIOU]/.test(className) ? "an" : "a"} ${className}`;
}
