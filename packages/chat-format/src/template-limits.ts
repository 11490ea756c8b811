/** Limits of one rendering of a chat template. */
export interface TemplateLimits {
  /** Evaluated expressions. An iteration of a loop counts as ten. */
  steps: number;
  /** Nesting depth of expressions and macros. */
  depth: number;
  /** Characters of every intermediate text, of the result, and of a list with its contents when written out. */
  characters: number;
  /** Elements of lists and objects, including nested ones. */
  items: number;
  /** Numbers of one `range`. */
  range: number;
}

/** Far above the needs of a conversation of a million tokens, and small enough for a thread with 256 MB. */
export const templateLimits: TemplateLimits = {
  steps: 5e6,
  depth: 400,
  characters: 4 << 20,
  items: 250_000,
  range: 10_000,
};

/** A template exceeded a limit, which the message names. */
export class TemplateLimitError extends Error {
  override name = "TemplateLimitError";
}
