import { createTable } from "../schema/create-table.js";
import type { Migration } from "./migration.js";

const tracingTables = [
  createTable("calls"),
  createTable("call_parts"),
  createTable("call_names"),
  createTable("call_hidden"),
  createTable("objects"),
  createTable("object_aliases"),
  createTable("object_tags"),
  createTable("table_rows"),
  createTable("tables"),
  createTable("files"),
];

/** All steps, in order, numbered from 1 without gaps. */
export const allMigrations: readonly Migration[] = [
  { version: 1, name: "tracing tables", statements: tracingTables },
  { version: 2, name: "feedback", statements: [createTable("feedback")] },
  { version: 3, name: "costs", statements: [createTable("costs")] },
];
