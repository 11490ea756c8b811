import type { JsonChildren } from "./json-children.js";

/** What the thread of one text is asked. */
export interface ScanRequest {
  id: number;
  /** With the first request. */
  text?: string;
  from: number;
  to: number;
  skip: number;
}

export type ScanResponse = { id: number } & ({ found: JsonChildren } | { failed: string });
