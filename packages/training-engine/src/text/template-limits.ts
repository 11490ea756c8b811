/** What one rendering of a chat template may use up. */
export interface TemplateLimits {
  /** Expressions evaluated; a round of a loop counts as ten. */
  steps: number;
  /** Expressions and macros inside each other. */
  depth: number;
  /** Characters of any text on the way, of the result, and of everything that a list holds when it is written out. */
  characters: number;
  /** Elements of lists and objects, those inside them counted too. */
  items: number;
  /** Numbers that `range` may make at once. */
  range: number;
}

/** Far above what a conversation of a million tokens needs; below what hurts a thread of 256 MB. */
export const templateLimits: TemplateLimits = {
  steps: 5e6,
  depth: 400,
  characters: 4 << 20,
  items: 250_000,
  range: 10_000,
};

/** A template that asks for too much; the message says of what. */
export class TemplateLimitError extends Error {
  override name = "TemplateLimitError";
}
