import { randomUUID } from "node:crypto";
import type { Database, Row } from "./database/database.js";
import { integerOf, textOf } from "./database/database.js";
import { checkPathName, isPathName, isStorable } from "./database/names.js";
import { Parameters } from "./database/parameters.js";
import type { Shards } from "./shards.js";

export interface Project {
  /** Internal id, a UUID, for clients that hash internal refs. */
  id: string;
  entity: string;
  name: string;
  /** External id, `entity/name`. */
  project_id: string;
  created_at: bigint;
}

export interface Projects {
  /** The project of that name, made when there is none. Cheap for one that was seen before. */
  ensure(entity: string, name: string): Promise<Project>;
  /** The same of many projects, which are made a few hundred at a time. */
  ensureAll(projects: ReadonlyArray<{ entity: string; project: string }>): Promise<void>;
  /** Whether the project, `entity/name`, is remembered from an earlier call. Without a promise, since writes ask each time. */
  isRemembered(projectId: string): boolean;
  get(entity: string, name: string): Promise<Project | undefined>;
  byId(id: string): Promise<Project | undefined>;
  /** Those of one entity, or all, oldest first. */
  list(entity?: string): Promise<Project[]>;
  /** A page in the order of entity and name. */
  query(request: ProjectsRequest): Promise<{ projects: Project[]; has_more: boolean }>;
  /** Looks every project up anew: one was deleted. */
  forget(): void;
}

export interface ProjectsRequest {
  entity?: string | undefined;
  /** Only projects with these names. */
  names?: readonly string[] | undefined;
  /** In letters of either case, as far as the database knows them. */
  name_contains?: string | undefined;
  limit: number;
  /** The project after which the page begins, whether or not it exists. */
  after?: { entity: string; name: string } | undefined;
}

const columns = "id, entity, name, created_at";
const remembered = 10_000;

export function openProjects(database: Database, now: () => bigint, shards: Pick<Shards, "forNewProject">): Projects {
  const seen = new Map<string, Project>();

  const remember = (row: Row | undefined): Project | undefined => {
    if (row === undefined) return undefined;
    const project = projectOf(row);
    if (seen.size >= remembered) seen.clear();
    seen.set(project.project_id, project);
    seen.set(project.id, project);
    return project;
  };

  async function get(entity: string, name: string): Promise<Project | undefined> {
    // Not only of use to the database: a name that holds a slash could pass for another project's external id.
    if (!isPathName(entity) || !isPathName(name)) return undefined;
    const known = seen.get(`${entity}/${name}`);
    if (known !== undefined) return known;
    const rows = await database.rows(`SELECT ${columns} FROM projects WHERE entity = $1 AND name = $2`, [entity, name]);
    return remember(rows[0]);
  }

  return {
    async ensure(entity, name) {
      checkPathName(entity, "entity");
      checkPathName(name, "project");
      const found = await get(entity, name);
      if (found !== undefined) return found;
      await database.run(insertProject, [randomUUID(), entity, name, now(), (await shards.forNewProject()) ?? null]);
      const created = await get(entity, name);
      if (created === undefined) throw new Error(`the project ${entity}/${name} vanished while it was made`);
      return created;
    },
    async ensureAll(projects) {
      const missing: Array<{ entity: string; name: string; shard: string | null }> = [];
      for (const { entity, project: name } of projects) {
        checkPathName(entity, "entity");
        checkPathName(name, "project");
        if ((await get(entity, name)) !== undefined) continue;
        missing.push({ entity, name, shard: (await shards.forNewProject()) ?? null });
      }
      for (let from = 0; from < missing.length; from += madeAtOnce) {
        await database.transaction(async (statements) => {
          for (const { entity, name, shard } of missing.slice(from, from + madeAtOnce)) {
            await statements.run(insertProject, [randomUUID(), entity, name, now(), shard]);
          }
        });
      }
    },
    isRemembered: (projectId) => seen.has(projectId),
    get,
    async byId(id) {
      if (id.includes("/") || !isStorable(id)) return undefined;
      return seen.get(id) ?? remember((await database.rows(`SELECT ${columns} FROM projects WHERE id = $1`, [id]))[0]);
    },
    async list(entity) {
      const rows =
        entity === undefined
          ? await database.rows(`SELECT ${columns} FROM projects ORDER BY created_at, id`)
          : await database.rows(`SELECT ${columns} FROM projects WHERE entity = $1 ORDER BY created_at, id`, [entity]);
      return rows.map(projectOf);
    },
    forget: () => seen.clear(),
    async query(request) {
      const { sql, params } = pageStatement(request);
      const projects = (await database.rows(sql, params)).map(projectOf);
      return { projects: projects.slice(0, request.limit), has_more: projects.length > request.limit };
    },
  };
}

const insertProject =
  "INSERT INTO projects (id, entity, name, created_at, shard) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (entity, name) DO NOTHING";
/** Each transaction waits for the disk once, and others wait for it. */
const madeAtOnce = 200;

/** Selects one project more than asked for, by which the reader knows that there are more. */
function pageStatement({ entity, names, name_contains, limit, after }: ProjectsRequest) {
  const p = new Parameters();
  const conditions: string[] = [];
  const texts = [entity, name_contains, after?.entity, after?.name].filter((text) => text !== undefined);
  // What no database stores names no project.
  if (!texts.every(isStorable)) return { sql: `SELECT ${columns} FROM projects WHERE 1 = 0`, params: p.values };
  if (entity !== undefined) conditions.push(`entity = ${p.bind(entity)}`);
  if (names !== undefined) conditions.push(`name IN (${names.map((name) => p.bind(name)).join(", ")})`);
  if (name_contains !== undefined) {
    const pattern = `%${name_contains.replaceAll(/[\\%_]/g, "\\$&")}%`;
    conditions.push(`lower(name) LIKE lower(${p.bind(pattern)}) ESCAPE '\\'`);
  }
  if (after !== undefined) conditions.push(`(entity, name) > (${p.bind(after.entity)}, ${p.bind(after.name)})`);
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
  const sql = `SELECT ${columns} FROM projects ${where} ORDER BY entity, name LIMIT ${p.bind(BigInt(limit + 1))}`;
  return { sql, params: p.values };
}

function projectOf(row: Row): Project {
  const entity = textOf(row, "entity");
  const name = textOf(row, "name");
  return {
    id: textOf(row, "id"),
    entity,
    name,
    project_id: `${entity}/${name}`,
    created_at: integerOf(row, "created_at"),
  };
}
