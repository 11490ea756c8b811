import type { CodePointRange } from "../utf8-ranges.js";

/** What a regular expression means, for the whole text. */
export type Regex =
  | { kind: "characters"; ranges: readonly CodePointRange[] }
  | { kind: "sequence"; parts: Regex[] }
  | { kind: "choice"; options: Regex[] }
  | { kind: "repeat"; part: Regex; min: number; max: number | undefined }
  | { kind: "start" }
  | { kind: "end" };
