import { randomUUID } from "node:crypto";
import type { Database, Row } from "./database/database.js";
import { integerOf, textOf } from "./database/database.js";
import { checkPathName, isPathName, isStorable } from "./database/names.js";

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
  /** The project of that name, made when there is none. Cheap for one that was seen before: projects never change. */
  ensure(entity: string, name: string): Promise<Project>;
  get(entity: string, name: string): Promise<Project | undefined>;
  byId(id: string): Promise<Project | undefined>;
  /** Those of one entity, or all, oldest first. */
  list(entity?: string): Promise<Project[]>;
}

const columns = "id, entity, name, created_at";
const remembered = 10_000;

export function openProjects(database: Database, now: () => bigint): Projects {
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
      await database.run(
        "INSERT INTO projects (id, entity, name, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (entity, name) DO NOTHING",
        [randomUUID(), entity, name, now()],
      );
      const made = await get(entity, name);
      if (made === undefined) throw new Error(`the project ${entity}/${name} vanished while it was made`);
      return made;
    },
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
  };
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
