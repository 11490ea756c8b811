import { HeddleError } from "@heddle/errors";
import type { Objective, TokenSequence } from "@heddle/training";
import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import { evaluateMicrobatch, scoreMicrobatch } from "./evaluate-microbatch.js";
import type { Gradients } from "./gradients.js";
import type { Microbatch } from "./microbatches.js";
import type { Network } from "./network.js";

/** Microbatches that one thread computes in sequence. Plain data. */
export type GradientTask =
  | { kind: "score"; sequences: TokenSequence[]; microbatches: Microbatch[] }
  | { kind: "forwardBackward"; objective: Objective; microbatches: Microbatch[]; entropy: boolean };

/** Callbacks between microbatches. */
export interface GradientTaskControl {
  stopped(): boolean;
  onTrained(tokens: number): void;
}

/** Computes a task. Returns the evaluations in the order of the microbatches and adds gradients to `gradients`. */
export async function runGradientTask(
  task: GradientTask,
  network: Network,
  gradients: Gradients,
  control: GradientTaskControl,
): Promise<MicrobatchEvaluation[]> {
  const evaluations: MicrobatchEvaluation[] = [];
  for (const microbatch of task.microbatches) {
    if (control.stopped()) throw new HeddleError("aborted", "the call was aborted");
    if (task.kind === "score") {
      evaluations.push(await scoreMicrobatch(network, task.sequences, microbatch));
    } else {
      const { objective, entropy } = task;
      const evaluation = await evaluateMicrobatch(network, objective, microbatch, gradients, { entropy });
      evaluations.push(evaluation);
      control.onTrained(evaluation.sums.reduce((sum, each) => sum + (each["trainedTokens"] ?? 0), 0));
    }
  }
  return evaluations;
}

/** Returns the microbatches of a task that are assigned to one worker, with only the sequences that they need. */
export function taskForWorker(task: GradientTask, worker: number): GradientTask {
  const assigned = task.microbatches.filter((microbatch) => microbatch.worker === worker);
  const order = assigned.flatMap(({ indices }) => indices);
  let next = 0;
  const microbatches = assigned.map((microbatch) => ({ ...microbatch, indices: microbatch.indices.map(() => next++) }));
  const pick = <Sequence>(sequences: Sequence[]) => order.map((index) => sequences[index]!);
  if (task.kind === "score") return { ...task, microbatches, sequences: pick(task.sequences) };
  const { objective } = task;
  return {
    ...task,
    microbatches,
    // Written once per objective, so that the types of sequence and objective match.
    objective:
      objective.name === "cross_entropy"
        ? { ...objective, sequences: pick(objective.sequences) }
        : { ...objective, sequences: pick(objective.sequences) },
  };
}
