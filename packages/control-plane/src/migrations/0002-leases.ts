import type { ControlPlaneMigration } from "./migrate.js";

export const leases: ControlPlaneMigration = {
  version: 2,
  name: "leases",
  statements: [
    // No column has a time: a process that wants a lease measures on its own clock how long `beat` has not moved.
    `CREATE TABLE leases (
      name TEXT PRIMARY KEY,
      holder TEXT NOT NULL,
      token TEXT NOT NULL,
      beat BIGINT NOT NULL
    )`,
  ],
};
