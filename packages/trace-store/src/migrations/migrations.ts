import { tracingTables } from "./0001-tracing.js";
import { feedbackTable } from "./0003-feedback.js";
import type { Migration } from "./migration.js";

/** All steps, in order, numbered from 1 without gaps. */
export const allMigrations: readonly Migration[] = [tracingTables, feedbackTable];
