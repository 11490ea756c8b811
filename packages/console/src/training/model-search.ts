import { axes } from "./curves/series.js";
import type { Axis } from "./curves/series.js";

/** What the address of the training of a model says. */
export interface ModelSearch {
  /** Id of the job that is looked at; absent it is the newest. */
  job?: string;
  /** What the curves run over; absent it is the checkpoint step. */
  x?: Axis;
  /** Id of the rollout under the cursor, as `<group>.<index>`. */
  rollout?: string;
  /** `group`: all rollouts of the group under the cursor are shown next to each other. */
  side?: "group";
}

/** What is not said well is left out. */
export function readModelSearch({ job, x, rollout, side }: Record<string, unknown>): ModelSearch {
  const axis = axes.slice(1).find((name) => name === x);
  return {
    ...(typeof job === "string" && job !== "" && { job: job.slice(0, 100) }),
    ...(axis !== undefined && { x: axis }),
    ...(typeof rollout === "string" && /^\d{1,9}\.\d{1,9}$/.test(rollout) && { rollout }),
    ...(side === "group" && { side }),
  };
}
