import { HeddleError } from "@heddle/errors";
import type { Database, Row } from "./database/database.js";
import { integerOf, textOf } from "./database/database.js";

/** The first tracing database, which every installation has. */
export const mainShard = "main";

export interface Shard {
  name: string;
  /** Whether new projects may be put there. */
  open: boolean;
  /** How many there are. */
  projects: number;
}

export interface Shards {
  /**
   * Notes the databases besides the first that a service is configured for. The first list takes new projects at once; what a
   * later one has besides does when it is {@link add added}, since replicas with the list before do not know it. Throws
   * `conflict` for a list that lacks a database which is noted already.
   */
  configure(names: readonly string[]): Promise<void>;
  /** Lets new projects be put in a database that is configured. Throws `not_found` for another one. */
  add(name: string): Promise<void>;
  list(): Promise<Shard[]>;
  /** Where a project is; undefined for one that does not exist. */
  of(entity: string, name: string): Promise<string | undefined>;
  /** Notes that a project is in another database now. */
  move(entity: string, name: string, shard: string): Promise<void>;
  /** The database with the fewest projects; undefined where there is the first one only. */
  forNewProject(): Promise<string | undefined>;
}

/** Of the databases besides the first. */
interface Noted {
  name: string;
  open: boolean;
}

export async function openShards(database: Database): Promise<Shards> {
  const noted = async (): Promise<Noted[] | undefined> => {
    const [row] = await database.rows("SELECT shards FROM instance WHERE id = 1");
    return notedOf(row);
  };
  // An installation with one database is asked no more.
  let isSharded = (await noted()) !== undefined;

  async function change(next: (before: Noted[] | undefined) => Noted[] | undefined): Promise<void> {
    await database.transaction(async (statements) => {
      const [row] = await statements.rows("SELECT shards FROM instance WHERE id = 1");
      const before = notedOf(row);
      const after = next(before);
      isSharded ||= before !== undefined;
      if (after === undefined) return;
      await statements.run("UPDATE instance SET shards = $1 WHERE id = 1", [JSON.stringify(after)]);
      isSharded = true;
    });
  }

  async function list(): Promise<Shard[]> {
    const all = [{ name: mainShard, open: true }, ...((await noted()) ?? [])];
    const rows = await database.rows("SELECT shard, COUNT(*) AS projects FROM projects GROUP BY shard");
    const counts = new Map<string, number>();
    for (const row of rows) {
      const name = shardIn(row);
      counts.set(name, (counts.get(name) ?? 0) + Number(integerOf(row, "projects")));
    }
    return all.map(({ name, open }) => ({ name, open, projects: counts.get(name) ?? 0 }));
  }

  return {
    list,
    async configure(names) {
      await change((before) => {
        const missing = before?.find(({ name }) => !names.includes(name));
        if (missing !== undefined) {
          throw new HeddleError("conflict", `the tracing database ${missing.name} is noted, and is not configured`);
        }
        const added = names.filter((name) => before?.every((known) => known.name !== name) ?? true);
        if (added.length === 0) return undefined;
        return [...(before ?? []), ...added.map((name) => ({ name, open: before === undefined }))];
      });
    },
    async add(name) {
      await change((before = []) => {
        if (!before.some((known) => known.name === name)) {
          throw new HeddleError("not_found", `no replica is configured for a tracing database ${name}`);
        }
        return before.map((known) => (known.name === name ? { ...known, open: true } : known));
      });
    },
    async of(entity, name) {
      const sql = "SELECT shard FROM projects WHERE entity = $1 AND name = $2";
      const [row] = await database.rows(sql, [entity, name]);
      return row && shardIn(row);
    },
    async move(entity, name, shard) {
      await database.run("UPDATE projects SET shard = $3 WHERE entity = $1 AND name = $2", [
        entity,
        name,
        shard === mainShard ? null : shard,
      ]);
    },
    async forNewProject() {
      if (!isSharded) return undefined;
      const open = (await list()).filter((shard) => shard.open);
      const least = open.reduce((best, shard) => (shard.projects < best.projects ? shard : best));
      return least.name === mainShard ? undefined : least.name;
    },
  };
}

const shardIn = (row: Row): string => (row["shard"] === null ? mainShard : textOf(row, "shard"));

function notedOf(row: Row | undefined): Noted[] | undefined {
  if (row === undefined || row["shards"] === null) return undefined;
  return JSON.parse(textOf(row, "shards")) as Noted[];
}
