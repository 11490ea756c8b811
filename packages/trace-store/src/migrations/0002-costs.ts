import { createTable } from "../schema/create-table.js";
import type { Migration } from "./migration.js";

export const costTables: Migration = {
  version: 2,
  name: "costs",
  statements: [createTable("costs")],
};
