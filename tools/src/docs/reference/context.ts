import type { Model, Operation } from "../../model/model.js";
import type { ComponentPages } from "./components.js";
import type { LinkTo } from "./type-text.js";

/** The program of one language that sends the example of an operation. */
export interface Sample {
  language: string;
  title: string;
  code: string;
}

/** What the pages of one document share. */
export interface ReferenceContext {
  model: Model;
  pages: ComponentPages;
  samples: (operation: Operation) => readonly Sample[];
  linksFrom: (path: string) => LinkTo;
  /** The section on a component, with a heading of the level. */
  componentText: (name: string, link: LinkTo, level: 2 | 3) => string;
}
