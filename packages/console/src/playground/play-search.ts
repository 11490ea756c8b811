import { readCallsSearch } from "../calls/calls-search.js";
import type { CallsSearch } from "../calls/calls-search.js";

/** Columns of a playground. */
export const mostModels = 6;

/** With the table that the recorded call was found in. */
export interface PlaySearch extends CallsSearch {
  /** The recorded call. */
  call?: string | undefined;
  /** Names with commas between. */
  models?: string | undefined;
}

export function readPlaySearch({ call, models, ...table }: Record<string, unknown>): PlaySearch {
  return {
    ...readCallsSearch(table),
    ...(typeof call === "string" && call !== "" && { call: call.slice(0, 256) }),
    ...(typeof models === "string" && models !== "" && { models: models.slice(0, 4000) }),
  };
}

export const modelsOf = ({ models = "" }: PlaySearch): string[] =>
  [...new Set(models.split(",").filter(Boolean))].slice(0, mostModels);
