import { HeddleError } from "@heddle/errors";
import { isAlias, isTag } from "@heddle/trace-model";
import type { Engine } from "../engine/engine.js";
import { Parameters } from "../engine/parameters.js";
import { RowWriter } from "../engine/row-writer.js";
import type { StoreContext } from "../context.js";
import type { ObjectKind, VersionOf } from "./requests.js";
import { inProject, liveVersion } from "./versions.js";
import type { Version } from "./versions.js";
import { newestRows } from "../schema/read-table.js";

/** One tag or alias of one version; `deleted` removes it. */
export interface Label {
  kind: ObjectKind;
  object_id: string;
  digest: string;
  label: string;
}

type LabelTable = "object_tags" | "object_aliases";
const columnOf = { object_tags: "tag", object_aliases: "alias" } as const;

export async function writeLabels(
  { engine, clock }: StoreContext,
  table: LabelTable,
  projectId: string,
  labels: readonly Label[],
  deleted: boolean,
): Promise<void> {
  if (labels.length === 0) return;
  const writer = new RowWriter();
  const rows = labels.map(({ kind, object_id, digest, label }) =>
    writer.rowOf(() => {
      for (const text of [projectId, kind, object_id, digest, label]) writer.text(text);
      writer.integer(deleted ? 1 : 0);
      writer.integer(clock.next());
    }),
  );
  const columns = ["project_id", "kind", "object_id", "digest", columnOf[table], "deleted", "version"];
  await engine.insert(table, columns, rows);
}

/** A label with its project. */
export interface ProjectLabel extends Label {
  project_id: string;
}

/** The labels of names in the projects, sorted. */
export async function labelsOf(
  engine: Engine,
  table: LabelTable,
  projectIds: readonly string[],
  objectIds: readonly string[],
  signal?: AbortSignal,
): Promise<ProjectLabel[]> {
  const p = new Parameters();
  const sql = `SELECT project_id, kind, object_id, digest, ${columnOf[table]} AS label FROM ${newestRows(table)}
    WHERE ${inProject(p, ...projectIds)} AND ${p.in("object_id", "String", objectIds)} ORDER BY label`;
  return await engine.rows<ProjectLabel>({ sql, params: p }, { signal });
}

/** All tags or aliases in use in a project, each once, sorted. */
export async function distinctLabels(engine: Engine, table: LabelTable, projectId: string): Promise<string[]> {
  const p = new Parameters();
  const sql = `SELECT DISTINCT ${columnOf[table]} AS label FROM ${newestRows(table)}
    WHERE ${inProject(p, projectId)} ORDER BY label`;
  return (await engine.rows<{ label: string }>({ sql, params: p })).map(({ label }) => label);
}

export async function changeTags(
  context: StoreContext,
  request: VersionOf & { tags: readonly string[] },
  deleted: boolean,
): Promise<void> {
  const wrong = request.tags.findIndex((tag) => !isTag(tag));
  if (wrong >= 0) {
    const rule = "a tag is words of letters, digits, - and _ joined by single spaces, at most 256 characters";
    throw new HeddleError("invalid", rule, { loc: ["tags", wrong] });
  }
  const version = await liveVersion(context.engine, request);
  await writeLabels(context, "object_tags", request.project_id, labelled(version, request.tags), deleted);
}

/** An alias belongs to one version of the name: it is removed from a version of the other kind. */
export async function setAliases(
  context: StoreContext,
  request: VersionOf & { aliases: readonly string[] },
): Promise<void> {
  checkAliases(request.aliases);
  const { project_id, object_id, aliases } = request;
  const [version, present] = await Promise.all([
    liveVersion(context.engine, request),
    labelsOf(context.engine, "object_aliases", [project_id], [object_id]),
  ]);
  const ofOtherKind = present.filter(({ kind, label }) => kind !== version.kind && aliases.includes(label));
  await writeLabels(context, "object_aliases", project_id, labelled(version, aliases), false);
  await writeLabels(context, "object_aliases", project_id, ofOtherKind, true);
}

export async function removeAliases(
  context: StoreContext,
  { project_id, object_id, aliases }: { project_id: string; object_id: string; aliases: readonly string[] },
): Promise<void> {
  checkAliases(aliases);
  const present = await labelsOf(context.engine, "object_aliases", [project_id], [object_id]);
  const removed = present.filter(({ label }) => aliases.includes(label));
  await writeLabels(context, "object_aliases", project_id, removed, true);
}

function labelled({ kind, object_id, digest }: Version, labels: readonly string[]): Label[] {
  return [...new Set(labels)].map((label) => ({ kind, object_id, digest, label }));
}

function checkAliases(aliases: readonly string[]): void {
  const wrong = aliases.findIndex((alias) => !isAlias(alias));
  if (wrong < 0) return;
  const rule = 'an alias is not blank, has at most 128 characters and no "/" or ":", and is not "latest" or a version';
  throw new HeddleError("invalid", rule, { loc: ["aliases", wrong] });
}
