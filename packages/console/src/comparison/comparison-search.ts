/** Which calls are compared and how: the address of the page has all of it. */
export interface ComparisonSearch {
  /** Ids of the calls. */
  a?: string;
  b?: string;
  /** Key of the row under the cursor. */
  at?: string;
  /** Only rows that differ, and those above them. */
  only?: "differences";
}

/** The longest id that the service takes. */
const longestId = 256;

export function readComparisonSearch({ a, b, at, only }: Record<string, unknown>): ComparisonSearch {
  const id = (given: unknown) => (typeof given === "string" && given !== "" ? given.slice(0, longestId) : undefined);
  const [first, second] = [id(a), id(b)];
  return {
    ...(first !== undefined && { a: first }),
    ...(second !== undefined && { b: second }),
    ...(typeof at === "string" && { at: at.slice(0, longestId + 2) }),
    ...(only === "differences" && { only }),
  };
}
