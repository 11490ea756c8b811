import type { CodePointRange } from "../utf8-ranges.js";

/** Syntax tree of a regular expression. */
export type Regex =
  | { kind: "characters"; ranges: readonly CodePointRange[] }
  | { kind: "sequence"; parts: Regex[] }
  | { kind: "choice"; options: Regex[] }
  | { kind: "repeat"; part: Regex; min: number; max: number | undefined }
  /** What must, or must not, follow. */
  | { kind: "look"; ahead: Regex; negative: boolean }
  | { kind: "start" }
  | { kind: "end" };
