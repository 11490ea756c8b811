/** What an address says of the list of projects. */
export interface HomeSearch {
  /** A part of names. */
  q?: string;
  /** The project under the cursor. */
  at?: string;
}

/** What is not said well is left out. */
export function readHomeSearch({ q, at }: Record<string, unknown>): HomeSearch {
  return {
    ...(typeof q === "string" && q !== "" && { q: q.slice(0, 1000) }),
    ...(typeof at === "string" && at !== "" && { at: at.slice(0, 1000) }),
  };
}
