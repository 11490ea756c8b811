import { parseArgs } from "node:util";
import { projectsQuery } from "@heddle/client/tracing";
import type { ProjectSummary } from "@heddle/client/tracing";
import { UsageError } from "./command.js";
import type { Command } from "./command.js";
import { asking, connectRemote, remoteUsage } from "./remote.js";
import { count, time } from "./terminal/format.js";
import { jsonLine } from "./terminal/json-line.js";
import { standardOutput } from "./terminal/output.js";
import type { Output } from "./terminal/output.js";
import { Table } from "./terminal/table.js";
import type { Column } from "./terminal/table.js";

const usage = `heddle projects [OPTION]...

Lists the projects that the key can read, with their calls. Times are UTC.

  --name TEXT       only projects whose name contains this
  --json            one JSON object in each line
${remoteUsage}`;

export const command: Command = {
  usage: () => usage,
  run: async (args) => projectsCommand(args, process.env, standardOutput(process.env)),
};

const columns: readonly Column<ProjectSummary>[] = [
  { title: "PROJECT", of: ({ project_id }) => project_id, least: 16 },
  { title: "CALLS", of: ({ call_count }) => count(call_count), align: "right" },
  { title: "RUNNING", of: ({ running }) => count(running), align: "right", dispensable: 1 },
  { title: "NEWEST CALL", of: ({ last_started_at }) => time(last_started_at) },
  { title: "CREATED", of: ({ created_at }) => time(created_at), dispensable: 2 },
];

/** `heddle projects` */
export async function projectsCommand(args: string[], env: NodeJS.ProcessEnv, output: Output): Promise<void> {
  const { url, name, json } = readArguments(args);
  const connection = connectRemote(url, env);
  await asking(connection, async () => {
    const projects: ProjectSummary[] = [];
    for (let after: string | undefined; ;) {
      const nameContains = name === undefined ? {} : { name_contains: name };
      const page = await projectsQuery(connection, {
        ...nameContains,
        limit: 1000,
        ...(after !== undefined && { after }),
      });
      projects.push(...page.projects);
      after = page.next;
      if (after === undefined) break;
    }
    if (projects.length === 0) output.note("There is no such project that the key can read.");
    else if (json) for (const project of projects) await output.write(jsonLine(project));
    else {
      const table = new Table(columns, projects, output);
      await output.write(`${[table.header(), ...projects.map((project) => table.line(project))].join("\n")}\n`);
    }
  });
}

function readArguments(args: string[]) {
  try {
    const options = {
      name: { type: "string" },
      json: { type: "boolean", default: false },
      url: { type: "string" },
    } as const;
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), usage);
  }
}
