import type { JsonText } from "@heddle/exact-json";
import type { UsageIncludes } from "../usage/usage-includes.js";
import type { CallKind } from "./kind.js";
import type { StatedValues } from "../stated-fields.js";
import type { UsageRow } from "../usage/usage.js";

/** What a client knows when a call begins. Absent optional text may also be "". */
export interface CallStart extends Partial<StatedValues<undefined>> {
  project_id: string;
  id: string;
  trace_id: string;
  /** Ref of an op version, or free text. */
  op_name: string;
  started_at: bigint;
  display_name?: string;
  attributes: JsonText;
  inputs: JsonText;
  /** The interface that received it, e.g. `otel`. */
  source?: string;
  /**
   * True where the producer of the texts knows that `storable` returns `attributes` and `inputs` unchanged and
   * `findRefs` finds nothing in `inputs`. Absent means unknown: the texts must be searched.
   */
  storableAsIs?: true;
  /** What `statedKind` finds in `attributes`, "" for nothing, when it is known without reading. */
  kind?: CallKind | "";
  /** What `usageIncludes` finds in the attributes, '' for nothing; absent where it has to look. */
  usageIncludes?: UsageIncludes | "";
}

/** What a client knows when a call has ended. */
export interface CallEnd {
  project_id: string;
  id: string;
  ended_at: bigint;
  /** Helps to find the start; it is not part of the end and never stored from here. */
  started_at?: bigint;
  output?: JsonText;
  summary: JsonText;
  exception?: string;
  wb_run_step_end?: number;
  /** As in {@link CallStart}: nothing to rewrite in `output` and `summary`, no refs in `output`. */
  storableAsIs?: true;
  /** What `usageOf` reads in `summary`, when it is known without reading. */
  usage?: readonly UsageRow[];
}

/** One write of a client. A complete write has both parts. */
export type CallPart =
  | { part: "start"; start: CallStart }
  | { part: "end"; end: CallEnd }
  | { part: "complete"; start: CallStart; end: CallEnd };
