import type { ControlPlane, TrainingModel } from "@heddle/control-plane";
import type { ResponseSchemas } from "@heddle/server-stub/training";
import { reserveForResponse } from "../limits/request-scope.js";
import { HistorySeries } from "./history-series.js";

export interface HistoryRequest {
  keys?: readonly string[] | undefined;
  /** Position of the last row that is left out. */
  after?: number | undefined;
  points: number;
}

/** Of one value of a response, with its row, step and time. */
const pointBytes = 80;

/** Reads what clients have logged to the run of a model. Throws `too_large` for more than a response may have. */
export async function readModelHistory(
  { trackingRuns }: ControlPlane,
  { project_id, run_id }: TrainingModel,
  { keys, after, points }: HistoryRequest,
  signal: AbortSignal,
): Promise<ResponseSchemas["ModelHistory"]> {
  const start = after === undefined ? 0 : after + 1;
  const span = Math.max(0, (await trackingRuns.historyRows(project_id, run_id)) - start);
  const series = new HistorySeries({ keys, points, start, span });
  const reserve = reserveForResponse(["points"]);
  let [rows, reserved] = [0, 0];
  let last: number | null = null;
  for await (const slice of trackingRuns.scanHistory({ project_id, name: run_id }, start)) {
    signal.throwIfAborted();
    for (const { position, text } of slice) {
      series.add(position, text);
      rows += 1;
      last = position;
    }
    await reserve((series.size - reserved) * pointBytes);
    reserved = series.size;
  }
  return { run_id, rows, last_row: last, series: series.finish() };
}
