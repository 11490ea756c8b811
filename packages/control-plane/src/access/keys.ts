import { randomUUID } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { Role } from "./callers.js";
import type { Database, Row } from "../database/database.js";
import { integerOf, textOf } from "../database/database.js";
import { cancelJobsOfKey } from "../jobs/cancel.js";
import { checkName, checkPathName, isStorable } from "../database/names.js";
import { newSecret, secretHash, shownPrefix } from "./secret.js";
import { endSessionsOfKey } from "./end-sessions.js";
import type { Users } from "./users.js";

/** A stored key. Its secret is not stored. */
export interface ApiKey {
  id: string;
  /** First characters of the secret, to distinguish keys. */
  prefix: string;
  name: string;
  user_id: string;
  user_name: string;
  entity: string;
  role: Role;
  projects?: readonly string[];
  created_at: bigint;
  revoked_at?: bigint;
  /** To within ten minutes. */
  last_used_at?: bigint;
}

export interface NewApiKey {
  user_name: string;
  entity: string;
  role: Role;
  /** Names of projects inside the entity; absent = all of them. */
  projects?: readonly string[];
  /** What the key is for, in the words of who made it. */
  name?: string;
}

const selection = `SELECT k.id, k.prefix, k.name, k.user_id, u.name AS user_name, k.entity, k.role, k.projects,
  k.created_at, k.revoked_at, k.last_used_at FROM api_keys k JOIN users u ON u.id = k.user_id`;

/** Makes a key and its user when there is none of that name. The secret is returned this once. */
export async function createKey(
  database: Database,
  users: Users,
  request: NewApiKey,
  now: bigint,
): Promise<{ key: ApiKey; secret: string }> {
  const { entity, projects, name = "" } = request;
  checkPathName(entity, "entity");
  if (name !== "") checkName(name, "name");
  if (!isRole(request.role))
    throw new HeddleError("unprocessable", "role must be admin, write or read", { loc: ["role"] });
  if (projects?.length === 0)
    throw new HeddleError("unprocessable", "projects must name a project", { loc: ["projects"] });
  for (const [index, project] of projects?.entries() ?? []) checkPathName(project, "projects", index);
  const user = await users.ensure(request.user_name);
  const secret = newSecret();
  const id = randomUUID();
  await database.run(
    `INSERT INTO api_keys (id, secret_sha256, prefix, name, user_id, entity, role, projects, created_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      id,
      secretHash(secret),
      shownPrefix(secret),
      name,
      user.id,
      entity,
      request.role,
      projects === undefined ? null : JSON.stringify(projects),
      now,
    ],
  );
  const key = await findKey(database, "k.id", id);
  if (key === undefined) throw new Error("the key vanished while it was made");
  return { key, secret };
}

/** All keys, or those of one entity, revoked ones included, oldest first. */
export async function listKeys(database: Database, entity?: string): Promise<ApiKey[]> {
  const order = "ORDER BY k.created_at, k.id";
  const rows =
    entity === undefined
      ? await database.rows(`${selection} ${order}`)
      : await database.rows(`${selection} WHERE k.entity = $1 ${order}`, [entity]);
  return rows.map(keyOf);
}

/** Changes what a key is said to be for. */
export async function renameKey(database: Database, id: string, name: string): Promise<ApiKey> {
  if (name !== "") checkName(name, "name");
  const missing = () => new HeddleError("not_found", `no API key ${id}`, { loc: ["id"] });
  if (!isStorable(id)) throw missing();
  await database.run("UPDATE api_keys SET name = $2 WHERE id = $1", [id, name]);
  const key = await findKey(database, "k.id", id);
  if (key === undefined) throw missing();
  return key;
}

export async function findKey(
  database: Database,
  column: "k.id" | "k.secret_sha256",
  value: string,
): Promise<ApiKey | undefined> {
  const [row] = await database.rows(`${selection} WHERE ${column} = $1`, [value]);
  return row && keyOf(row);
}

/** Ends a key for good, with the jobs that it has added. Revoking it again keeps the first time. */
export async function revokeKey(database: Database, id: string, now: bigint): Promise<ApiKey> {
  const missing = () => new HeddleError("not_found", `no API key ${id}`, { loc: ["id"] });
  if (!isStorable(id)) throw missing();
  await database.transaction(async (statements) => {
    const [row] = await statements.rows(
      "UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL RETURNING entity",
      [id, now],
    );
    if (row === undefined) return;
    const reason = "the API key that asked for it was revoked";
    await endSessionsOfKey(statements, id);
    await cancelJobsOfKey(statements, { entity: textOf(row, "entity"), key_id: id, reason });
  });
  const key = await findKey(database, "k.id", id);
  if (key === undefined) throw missing();
  return key;
}

function keyOf(row: Row): ApiKey {
  const role = textOf(row, "role");
  if (!isRole(role)) throw new TypeError(`unknown role ${role}`);
  const { projects, revoked_at, last_used_at } = row;
  return {
    id: textOf(row, "id"),
    prefix: textOf(row, "prefix"),
    name: textOf(row, "name"),
    user_id: textOf(row, "user_id"),
    user_name: textOf(row, "user_name"),
    entity: textOf(row, "entity"),
    role,
    ...(typeof projects === "string" && { projects: JSON.parse(projects) as string[] }),
    created_at: integerOf(row, "created_at"),
    ...(typeof revoked_at === "bigint" && { revoked_at }),
    ...(typeof last_used_at === "bigint" && { last_used_at }),
  };
}

function isRole(role: string): role is Role {
  return role === "admin" || role === "write" || role === "read";
}
