/** What an address says of the library besides what is shown. */
export interface LibrarySearch {
  /** A part of names. */
  q?: string;
  /** The name under the cursor. */
  at?: string;
  /** Digest of the version that the one that is shown is compared with. */
  vs?: string;
  /** Number of the row under the cursor. */
  row?: string;
}

const texts = ["q", "at", "vs"] as const;

/** What is not said well is left out. */
export function readLibrarySearch(given: Record<string, unknown>): LibrarySearch {
  const search: LibrarySearch = {};
  for (const name of texts) {
    const text = given[name];
    if (typeof text === "string" && text !== "") search[name] = text.slice(0, 1000);
  }
  const { row } = given;
  if (typeof row === "string" && /^\d{1,9}$/.test(row)) search.row = row;
  return search;
}
