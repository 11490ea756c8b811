import { createTable } from "../schema/create-table.js";
import type { Migration } from "./migration.js";

export const feedbackTable: Migration = {
  version: 2,
  name: "feedback",
  statements: [createTable("feedback")],
};
