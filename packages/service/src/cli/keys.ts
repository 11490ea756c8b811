import { parseArgs } from "node:util";
import { pathExists } from "@heddle/durable-files";
import { openControlPlane } from "@heddle/control-plane";
import type { ApiKey, ControlPlane } from "@heddle/control-plane";
import { visibleJson } from "@heddle/exact-json";
import { formatTime } from "@heddle/trace-model";
import { checkEntityName } from "../access/reserved-entities.js";
import { controlPlaneFile } from "../operations/backup/locations.js";
import { ConfigError } from "../config/config-error.js";
import { controlPlaneUrl, readConfig } from "../config/config.js";
import type { Config } from "../config/config.js";
import { requireDataDirectory } from "../operations/data-directory.js";
import { closestName } from "../closest-name.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle keys create --user NAME [--entity NAME] [--role admin|write|read] [--project [ENTITY/]NAME]... [--name TEXT] [--json]
heddle keys list [--json]
heddle keys revoke ID [--json]

A key belongs to a user and an entity; --project limits it to projects of that entity, and may name the entity, too.
The role is write unless another is given. The secret is shown once. Works while the service runs: a revoked key is
refused within a second. --json prints a JSON object for each key, a new one with its secret.`;

const roles = ["admin", "write", "read"] as const;

/** What a command line asks for, once it is known to be valid. */
type Action = (control: ControlPlane, print: (line: string) => void) => Promise<void>;

const actions = { create: readCreate, list: readList, revoke: readRevoke };
const isAction = (name: string): name is keyof typeof actions => Object.hasOwn(actions, name);

export const command: Command = {
  usage: () => usage,
  run: (args, { print }) => runKeys(args, readConfig(), print),
};

/** `heddle keys …` with these settings. */
export async function runKeys([name, ...args]: string[], config: Config, print: (line: string) => void): Promise<void> {
  if (name === undefined) throw new UsageError("create, list or revoke is needed", usage);
  if (!isAction(name)) {
    const meant = closestName(name, Object.keys(actions));
    throw new UsageError(`unknown action "${name}"${meant === undefined ? "" : `, did you mean ${meant}?`}`, usage);
  }
  const action = actions[name](args, config);
  requireControlPlane(config, { mayCreate: name === "create" });
  const control = await openControlPlane({ url: controlPlaneUrl(config) });
  try {
    await action(control, print);
  } finally {
    await control.close();
  }
}

/** Throws a {@link ConfigError} for a control plane in the data directory that is missing and may not be created. */
function requireControlPlane(config: Config, { mayCreate }: { mayCreate: boolean }): void {
  if (config.databaseUrl !== undefined) return;
  requireDataDirectory(config.dataDir);
  const file = controlPlaneFile(config);
  if (mayCreate || file === undefined || pathExists(file)) return;
  throw new ConfigError(`${config.dataDir} has no keys, because no service has used it. Set HEDDLE_DATA_DIR.`);
}

function readCreate(args: string[], { defaultEntity }: Config): Action {
  const values = readOptions(args);
  const { user, name } = values;
  if (!user) throw new UsageError("--user is needed: the name that reviews and traces will carry", usage);
  const role = roles.find((each) => each === (values.role ?? "write"));
  if (role === undefined) throw new UsageError(`--role must be one of ${roles.join(", ")}`, usage);
  const scope = readScope(values, defaultEntity);
  return async (control, print) => {
    await checkEntityName(control, scope.entity);
    const { key, secret } = await control.keys.create({ user_name: user, role, ...scope, ...(name && { name }) });
    if (values.json) return print(jsonOf({ ...key, secret }));
    print(`id      ${key.id}`);
    print(`access  ${access(key)}`);
    print(`secret  ${secret}`);
    print("The secret is not stored and cannot be shown again.");
  };
}

/** The entity that --entity or the projects name, and the names of the projects inside it. */
function readScope(
  { entity, project }: { entity?: string; project?: string[] },
  defaultEntity: string,
): { entity: string; projects?: string[] } {
  const named = project?.map((text) => {
    const slash = text.indexOf("/");
    return slash < 0 ? { name: text } : { entity: text.slice(0, slash), name: text.slice(slash + 1) };
  });
  const entities = new Set([entity, ...(named ?? []).map((each) => each.entity)].filter((each) => each !== undefined));
  if (entities.size > 1) {
    throw new UsageError(`a key belongs to one entity, not to ${[...entities].join(" and ")}`, usage);
  }
  const [only = defaultEntity] = entities;
  return { entity: only, ...(named && { projects: named.map(({ name }) => name) }) };
}

function readList(args: string[]): Action {
  const { json, rest } = withoutJson(args);
  if (rest[0] !== undefined) throw new UsageError(`list takes no argument "${rest[0]}"`, usage);
  return async (control, print) => {
    const keys = await control.keys.list();
    if (json) return keys.forEach((key) => print(jsonOf(key)));
    if (keys.length === 0) return print("No keys besides the owner key. Make one: heddle keys create --user NAME");
    for (const key of keys) {
      const state = key.revoked_at === undefined ? "active " : "revoked";
      print([key.id, `${key.prefix}…`, state, key.user_name, access(key), key.name].filter(Boolean).join("  "));
    }
  };
}

function readRevoke(args: string[]): Action {
  const {
    json,
    rest: [id, ...more],
  } = withoutJson(args);
  if (id === undefined || more.length > 0) {
    throw new UsageError("revoke needs the id of one key (heddle keys list)", usage);
  }
  return async (control, print) => {
    const key = await control.keys.revoke(id);
    print(json ? jsonOf(key) : `revoked ${key.id} of ${key.user_name}`);
  };
}

function withoutJson(args: string[]): { json: boolean; rest: string[] } {
  return { json: args.includes("--json"), rest: args.filter((arg) => arg !== "--json") };
}

/** Times are as the interface writes them. */
const jsonOf = (key: ApiKey & { secret?: string }): string =>
  visibleJson(JSON.stringify(key, (_, value: unknown) => (typeof value === "bigint" ? formatTime(value) : value)));

const access = (key: ApiKey): string =>
  `${key.role} on ${key.projects === undefined ? `${key.entity}/*` : key.projects.map((name) => `${key.entity}/${name}`).join(", ")}`;

function readOptions(args: string[]) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        user: { type: "string" },
        entity: { type: "string" },
        role: { type: "string" },
        project: { type: "string", multiple: true },
        name: { type: "string" },
        json: { type: "boolean", default: false },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
}
