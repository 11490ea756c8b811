import type { WireError } from "@heddle/concurrency";
import type { WeightsRef } from "@heddle/training";
import type { BaseModelSettings } from "../weights/base-models.js";
import type { ModelExport } from "./export-model.js";

export interface ExportRequest {
  settings: BaseModelSettings;
  weights: WeightsRef;
  wanted: ModelExport;
}

/** What the thread answers to each message. */
export type FromExportThread =
  | { type: "size"; bytes: number }
  | { type: "part"; part: Uint8Array }
  | { type: "done" }
  | { type: "error"; error: WireError };
