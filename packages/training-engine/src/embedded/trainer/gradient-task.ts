import { EngineError } from "../../engine-error.js";
import type { Objective, TokenSequence } from "../../port.js";
import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import { evaluateMicrobatch, scoreMicrobatch } from "./evaluate-microbatch.js";
import type { Gradients } from "./gradients.js";
import type { Microbatch } from "./microbatches.js";
import type { Network } from "./network.js";

/** Microbatches to be computed one after another, in one thread: plain data. */
export type GradientTask =
  | { kind: "score"; sequences: TokenSequence[]; microbatches: Microbatch[] }
  | { kind: "forwardBackward"; objective: Objective; microbatches: Microbatch[]; entropy: boolean };

/** Asked and told between microbatches. */
export interface GradientTaskControl {
  stopped(): boolean;
  onTrained(tokens: number): void;
}

/** Evaluations in the order of the microbatches; gradients are added to `gradients`. */
export async function runGradientTask(
  task: GradientTask,
  network: Network,
  gradients: Gradients,
  control: GradientTaskControl,
): Promise<MicrobatchEvaluation[]> {
  const evaluations: MicrobatchEvaluation[] = [];
  for (const microbatch of task.microbatches) {
    if (control.stopped()) throw new EngineError("aborted", "the caller asked for the end");
    if (task.kind === "score") {
      evaluations.push(await scoreMicrobatch(network, task.sequences, microbatch));
    } else {
      const { objective, entropy } = task;
      const evaluation = await evaluateMicrobatch(network, objective, microbatch, gradients, { entropy });
      evaluations.push(evaluation);
      control.onTrained(evaluation.sums.reduce((sum, each) => sum + (each["trained_tokens"] ?? 0), 0));
    }
  }
  return evaluations;
}

/** The part of a task that one lane computes, with only the sequences that it needs. */
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
    // The two kinds apart, so that sequences stay with their own objective.
    objective:
      objective.name === "cross_entropy"
        ? { ...objective, sequences: pick(objective.sequences) }
        : { ...objective, sequences: pick(objective.sequences) },
  };
}
