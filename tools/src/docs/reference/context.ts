import type { Model, Operation } from "../../model/model.js";
import type { Sample } from "../../samples/operation-samples.js";
import type { ComponentPages } from "./components.js";
import type { Example } from "./examples.js";
import type { LinkTo } from "./type-text.js";

/** What the pages of one document share. */
export interface ReferenceContext {
  model: Model;
  /** Title of the section: `Tracing`. */
  section: string;
  pages: ComponentPages;
  samples: (operation: Operation) => readonly Sample[];
  /** The examples of a media type, given by the JSON pointer to it. */
  examples: (pointer: string) => Example[];
  linksFrom: (path: string) => LinkTo;
  /** The section on a component, with a heading of the level. */
  componentText: (name: string, link: LinkTo, level: 2 | 3) => string;
}
