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
}

/** Runs that are compared at a time. */
export const mostCompared = 8;

/** Ids of an address, each once. */
export const idsIn = (text: string | undefined): string[] =>
  text === undefined || text === "" ? [] : [...new Set(text.split(",").map(decoded))];

/** The text for an address; undefined without any. */
export const idsText = (ids: readonly string[]): string | undefined =>
  ids.length === 0 ? undefined : ids.map((id) => id.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",");

const decoded = (id: string): string => id.replaceAll("%2C", ",").replaceAll("%25", "%");

/** What is not said well is left out. */
export function readEvaluationsSearch(given: Record<string, unknown>): EvaluationsSearch {
  const text = (name: string, most: number) => {
    const value = given[name];
    return typeof value === "string" && value !== "" && value.length <= most ? { [name]: value } : {};
  };
  return { ...text("at", 1000), ...text("chosen", 10_000), ...text("base", 1000), ...text("vs", 10_000) };
}
