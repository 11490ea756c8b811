import { parseArgs } from "node:util";
import { openControlPlane } from "@heddle/control-plane";
import type { ApiKey, ControlPlane } from "@heddle/control-plane";
import { controlPlaneUrl } from "../config.js";
import type { Config } from "../config.js";
import { UsageError } from "./usage.js";

export const keysUsage = `heddle keys create --user NAME [--entity NAME] [--role admin|write|read] [--project NAME]... [--name TEXT]
heddle keys list
heddle keys revoke ID

A key belongs to a user and an entity; --project limits it to projects of that entity. The secret is shown once.
Works while the service runs: a revoked key is refused within a second.`;

const roles = ["admin", "write", "read"] as const;

/** `heddle keys …`: prints to `print`, throws {@link UsageError} for a command line it cannot act on. */
export async function keysCommand(args: string[], config: Config, print: (line: string) => void): Promise<void> {
  const [action, ...rest] = args;
  if (action === undefined || action === "help" || args.includes("--help")) return print(keysUsage);
  const control = await openControlPlane({ url: controlPlaneUrl(config) });
  try {
    if (action === "create") await create(control, config, rest, print);
    else if (action === "list") await list(control, print);
    else if (action === "revoke") await revoke(control, rest, print);
    else throw new UsageError(`unknown action "${action}"`, keysUsage);
  } finally {
    await control.close();
  }
}

async function create(
  control: ControlPlane,
  config: Config,
  args: string[],
  print: (line: string) => void,
): Promise<void> {
  const { values } = readOptions(args);
  if (!values.user) throw new UsageError("--user is needed: the name that reviews and traces will carry", keysUsage);
  const role = roles.find((name) => name === (values.role ?? "write"));
  if (role === undefined) throw new UsageError(`--role must be one of ${roles.join(", ")}`, keysUsage);
  const { key, secret } = await control.keys.create({
    user_name: values.user,
    entity: values.entity ?? config.defaultEntity,
    role,
    ...(values.project && { projects: values.project }),
    ...(values.name && { name: values.name }),
  });
  print(`id      ${key.id}`);
  print(`access  ${access(key)}`);
  print(`secret  ${secret}`);
  print("The secret is not stored and cannot be shown again.");
}

async function list(control: ControlPlane, print: (line: string) => void): Promise<void> {
  const keys = await control.keys.list();
  if (keys.length === 0) return print("No keys besides the owner key. Make one: heddle keys create --user NAME");
  for (const key of keys) {
    const state = key.revoked_at === undefined ? "active " : "revoked";
    print([key.id, `${key.prefix}…`, state, key.user_name, access(key), key.name].filter(Boolean).join("  "));
  }
}

async function revoke(control: ControlPlane, args: string[], print: (line: string) => void): Promise<void> {
  const [id] = args;
  if (id === undefined) throw new UsageError("revoke needs the id of a key (heddle keys list)", keysUsage);
  const key = await control.keys.revoke(id);
  print(`revoked ${key.id} of ${key.user_name}`);
}

const access = (key: ApiKey): string =>
  `${key.role} on ${key.projects === undefined ? `${key.entity}/*` : key.projects.map((name) => `${key.entity}/${name}`).join(", ")}`;

function readOptions(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        user: { type: "string" },
        entity: { type: "string" },
        role: { type: "string" },
        project: { type: "string", multiple: true },
        name: { type: "string" },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), keysUsage);
  }
}
