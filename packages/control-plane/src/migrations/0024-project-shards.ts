import type { ControlPlaneMigration } from "./migrate.js";

export const projectShards: ControlPlaneMigration = {
  version: 24,
  name: "project-shards",
  statements: [
    // The name of the tracing database that has the project; NULL of the first one.
    "ALTER TABLE projects ADD COLUMN shard TEXT",
    // JSON of the names of the databases besides the first, and whether each takes new projects; NULL where there are none.
    "ALTER TABLE instance ADD COLUMN shards TEXT",
  ],
};
