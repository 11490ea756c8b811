/** What an address says of evaluations. */
export interface EvaluationsSearch {
  /** The run under the cursor of the list. */
  at?: string;
  /** Ids of the runs that are chosen, as {@link idsIn} reads them. */
  chosen?: string;
  /** The run that others are compared with. */
  base?: string;
  /** Ids of the runs that are compared with it. */
  vs?: string;
  /** Of the comparison: the score, the order, which rows, and whether a smaller score is better. */
  score?: string;
  sort?: string;
  only?: string;
  lower?: string;
  /** The digest of the row and the number of the run under the cursor. */
  row?: string;
  run?: string;
  /** Whether the row is shown beside the list, and what its outputs are compared with. */
  open?: string;
  diff?: string;
  /** Whether a run is about to be begun. */
  dialog?: string;
}

/** Runs that are compared at a time. */
export const mostCompared = 4;

/** Ids of an address, each once. */
export const idsIn = (text: string | undefined): string[] =>
  text === undefined || text === "" ? [] : [...new Set(text.split(",").map(decoded))];

/** The text for an address; undefined without any. */
export const idsText = (ids: readonly string[]): string | undefined =>
  ids.length === 0 ? undefined : ids.map((id) => id.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");

const decoded = (id: string): string => id.replaceAll("%2C", ",").replaceAll("%25", "%");

const longest = {
  at: 1000,
  chosen: 10_000,
  base: 1000,
  vs: 10_000,
  score: 2000,
  sort: 20,
  only: 20,
  lower: 1,
  row: 100,
  run: 1,
  open: 1,
  diff: 10,
  dialog: 10,
} as const satisfies Record<keyof EvaluationsSearch, number>;

/** What is not said well is left out. */
export function readEvaluationsSearch(given: Record<string, unknown>): EvaluationsSearch {
  return Object.fromEntries(
    Object.entries(longest).flatMap(([name, most]) => {
      const value = given[name];
      return typeof value === "string" && value !== "" && value.length <= most ? [[name, value]] : [];
    }),
  );
}
