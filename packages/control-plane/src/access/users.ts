import { randomUUID } from "node:crypto";
import type { Database, Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { checkName, isStorable } from "../database/names.js";

/** The user that a key belongs to: the `wb_user_id`, annotator and viewer of the wire. */
export interface User {
  id: string;
  name: string;
  created_at: bigint;
}

export interface Users {
  /** The user of that name, made when there is none. */
  ensure(name: string): Promise<User>;
  get(id: string): Promise<User | undefined>;
  list(): Promise<User[]>;
}

export function openUsers(database: Database, now: () => bigint): Users {
  return {
    async ensure(name) {
      checkName(name, "user_name");
      await database.run("INSERT INTO users (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING", [
        randomUUID(),
        name,
        now(),
      ]);
      const [row] = await database.rows("SELECT id, name, created_at FROM users WHERE name = $1", [name]);
      return userOf(row ?? {});
    },
    async get(id) {
      if (!isStorable(id)) return undefined;
      const [row] = await database.rows("SELECT id, name, created_at FROM users WHERE id = $1", [id]);
      return row && userOf(row);
    },
    async list() {
      return (await database.rows("SELECT id, name, created_at FROM users ORDER BY created_at, id")).map(userOf);
    },
  };
}

function userOf(row: Row): User {
  return { id: textOf(row, "id"), name: textOf(row, "name"), created_at: integerOf(row, "created_at") };
}
