import type { AttributeNode } from "./attribute-node.js";

/** A path in the attributes, also into a JSON value in them. Without a path: the events that the name names. */
export interface Source {
  name: string;
  path?: readonly string[];
}

/** The first one that is present wins. */
export type Sources = readonly Source[];

/** A source that the keys of a span allow: a node, and what is left of the path below it. No node means events. */
export interface PresentSource {
  name: string;
  node?: AttributeNode;
  rest: readonly string[];
}
