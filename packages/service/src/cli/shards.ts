import { parseArgs } from "node:util";
import { openControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { ConfigError } from "../config/config-error.js";
import { readConfig } from "../config/config.js";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";

const usage = `heddle shards [--json]
heddle shards add NAME

Lists the tracing databases that replicas with the same HEDDLE_DATABASE_URL share, how many projects each has, and whether new
ones may be put there. One that was added to HEDDLE_SHARDS of an installation gets none until "add", which is for when every
replica runs with the longer list.`;

export const command: Command = {
  usage: () => usage,
  async run(args, { print }) {
    const { isJson, added } = readOptions(args);
    const { databaseUrl } = readConfig();
    if (databaseUrl === undefined) {
      throw new ConfigError(
        "heddle shards needs HEDDLE_DATABASE_URL: what is in a data directory has one tracing database.",
      );
    }
    const control = await openControlPlane({ url: databaseUrl });
    const { shards } = control;
    try {
      if (added !== undefined) {
        await shards.add(added).catch((error: unknown) => {
          if (!(error instanceof HeddleError) || error.code !== "not_found") throw error;
          throw new ConfigError(`${error.message}: add it to HEDDLE_SHARDS of every replica first.`);
        });
        return print(`New projects may be put in ${added}.`);
      }
      const listed = await shards.list();
      if (isJson) return print(JSON.stringify(listed));
      for (const { name, open, projects } of listed) {
        print(
          `${name.padEnd(32)}  ${String(projects).padStart(8)} projects  ${open ? "takes new ones" : "takes no new ones"}`,
        );
      }
    } finally {
      await control.close();
    }
  },
};

function readOptions(args: string[]): { isJson: boolean; added: string | undefined } {
  let read;
  try {
    read = parseArgs({ args, allowPositionals: true, options: { json: { type: "boolean" } } });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
  const { positionals, values } = read;
  const [verb, name, ...more] = positionals;
  if (verb === undefined) return { isJson: values.json === true, added: undefined };
  if (verb !== "add" || name === undefined || more.length > 0 || values.json === true) {
    throw new UsageError(`unexpected ${JSON.stringify(args.join(" "))}`, usage);
  }
  return { isJson: false, added: name };
}
