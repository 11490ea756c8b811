import { parseArgs } from "node:util";
import { openControlPlane } from "@heddle/control-plane";
import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { acceptDatabases } from "../boot/accept-databases.js";
import { moveToShard } from "../boot/move-to-shard.js";
import { ConfigError } from "../config/config-error.js";
import { controlPlaneUrl, readConfig } from "../config/config.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle shards [--json]
heddle shards add NAME
heddle shards move PROJECT NAME
heddle shards accept

Lists the tracing databases that replicas with the same HEDDLE_DATABASE_URL share, how many projects each has, and whether new
ones may be put there. One that was added to HEDDLE_SHARDS of an installation gets none until "add", which is for when every
replica runs with the longer list.

"move" puts a project, as team/project, into another of them, with the settings of a replica and while no replica works on
either: it copies everything, compares both, notes where the project is, and deletes it where it was. What it has copied when it
is interrupted is not used, and the next attempt begins again.

"accept" is for a database of HEDDLE_DATABASE_URL that was restored to an earlier state than the tracing databases, which replicas
then refuse to start with: it goes on with them, and notes the projects that it does not know. Keys and everything else that was
made there since are lost.`;

type Verb =
  | { verb: "list"; isJson: boolean }
  | { verb: "accept" }
  | { verb: "add"; name: string }
  | { verb: "move"; project: string; name: string };

export const command: Command = {
  usage: () => usage,
  async run(args, { print }) {
    const asked = readOptions(args);
    const config = readConfig();
    if (config.databaseUrl === undefined && config.workers === 1) {
      throw new ConfigError(
        "heddle shards needs HEDDLE_DATABASE_URL or HEDDLE_WORKERS: what is in a data directory has one tracing database.",
      );
    }
    const control = await openControlPlane({ url: controlPlaneUrl(config) });
    try {
      if (asked.verb === "list") await list(control, asked.isJson, print);
      else if (asked.verb === "add") {
        await control.shards.add(asked.name).catch(unlessUnknown);
        print(`New projects may be put in ${asked.name}.`);
      } else if (asked.verb === "accept") {
        for (const { shard, projects } of await acceptDatabases(config, control)) {
          for (const project of projects) print(`${project} is in ${shard}, and is noted again.`);
          print(`${shard} is accepted.`);
        }
      } else {
        const moved = await moveToShard(config, control, asked.project, asked.name);
        for (const { table, rows } of moved)
          print(`${table.padEnd(32)}  ${String(rows).padStart(12)} rows, the same in both`);
        print(`${asked.project} is in ${asked.name}.`);
      }
    } finally {
      await control.close();
    }
  },
};

async function list({ shards }: ControlPlane, isJson: boolean, print: (line: string) => void): Promise<void> {
  const listed = await shards.list();
  if (isJson) return print(JSON.stringify(listed));
  for (const { name, open, projects } of listed) {
    print(
      `${name.padEnd(32)}  ${String(projects).padStart(8)} projects  ${open ? "takes new ones" : "takes no new ones"}`,
    );
  }
}

function unlessUnknown(error: unknown): void {
  if (!(error instanceof HeddleError) || error.code !== "not_found") throw error;
  throw new ConfigError(`${error.message}: add it to HEDDLE_SHARDS of every replica first.`);
}

function readOptions(args: string[]): Verb {
  let read;
  try {
    read = parseArgs({ args, allowPositionals: true, options: { json: { type: "boolean" } } });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
  const { positionals, values } = read;
  const [verb, ...names] = positionals;
  const isJson = values.json === true;
  if (verb === undefined) return { verb: "list", isJson };
  const [first = "", second = ""] = names;
  if (verb === "accept" && names.length === 0 && !isJson) return { verb };
  if (verb === "add" && names.length === 1 && !isJson) return { verb, name: first };
  if (verb === "move" && names.length === 2 && !isJson) return { verb, project: first, name: second };
  throw new UsageError(`unexpected ${JSON.stringify(args.join(" "))}`, usage);
}
