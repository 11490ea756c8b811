import type { AttributeNode } from "./attribute-node.js";

/**
 * A path in the attributes, also into a JSON value in them; with `events` the attributes of these events, each name by
 * itself, or the path in those of the first that has it.
 */
export interface Source {
  name: string;
  path?: readonly string[];
  /** Whether a text is JSON text of a text. */
  json?: boolean;
  /** Whether only an object or list counts. */
  structured?: boolean;
  /** What the value must have. */
  having?: readonly string[];
  events?: readonly string[];
}

/** The first one that is present wins. */
export type Sources = readonly Source[];

/** A source that the keys of a span allow: a node and what is left of the path below it, or events. */
export interface PresentSource {
  source: Source;
  node: AttributeNode | undefined;
  rest: readonly string[];
}
