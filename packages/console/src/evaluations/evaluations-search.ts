/** What an address says of evaluations. */
export interface EvaluationsSearch {
  /** The run under the cursor of the list. */
  at?: string;
}

/** What is not said well is left out. */
export function readEvaluationsSearch({ at }: Record<string, unknown>): EvaluationsSearch {
  return typeof at === "string" && at !== "" && at.length <= 1000 ? { at } : {};
}
