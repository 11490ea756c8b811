import type { MicrobatchEvaluation } from "./evaluate-microbatch.js";
import type { Gradients } from "./gradients.js";
import type { LaneMemory } from "./lane-protocol.js";
import { partOfTask, runLaneTask, type LaneTask } from "./lane-task.js";
import type { Network } from "./network.js";
import { startLane, type RemoteLane } from "./remote-lane.js";

export interface Lanes {
  /** Evaluations in the order of the task's microbatches. Gradients are added in the order of the lanes. */
  run(
    task: LaneTask,
    options: { signal?: AbortSignal; onTrained?: (tokens: number) => void },
  ): Promise<MicrobatchEvaluation[]>;
  weightsChanged(): void;
  close(): Promise<void>;
}

export interface LaneSettings extends Omit<LaneMemory, "trained" | "gradients" | "stop"> {
  /** The numbers that are trained, as they are now. */
  weights: Float32Array;
  network: Network;
  gradients: Gradients;
}

/** Computes microbatches in this thread and in others beside it, which are started when there is work for them. */
export function openLanes({ weights, network, gradients, ...rest }: LaneSettings): Lanes {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  // Only with a second lane; one copy serves all others.
  let trained: Float32Array | undefined;
  let stale = true;
  const others: RemoteLane[] = [];

  const remoteLanes = (wanted: number): RemoteLane[] => {
    trained ??= sharedNumbers(weights.length);
    if (stale) trained.set(weights);
    stale = false;
    for (let i = 0; i < wanted; i++) {
      if (others[i] && !others[i]?.ended) continue;
      others[i] = startLane({ ...rest, trained, gradients: sharedNumbers(weights.length), stop });
    }
    return others.slice(0, wanted);
  };

  const run: Lanes["run"] = async (task, { signal, onTrained = () => undefined }) => {
    const lanes = task.microbatches.reduce((most, { lane }) => Math.max(most, lane + 1), 1);
    Atomics.store(stop, 0, signal?.aborted ? 1 : 0);
    const end = () => void Atomics.store(stop, 0, 1);
    signal?.addEventListener("abort", end);
    let thrown: { error: unknown } | undefined;
    const tell = (tokens: number) => {
      try {
        onTrained(tokens);
      } catch (error) {
        thrown ??= { error };
        end();
      }
    };
    const control = { stopped: () => Atomics.load(stop, 0) !== 0, onTrained: tell };
    const remote = lanes > 1 ? remoteLanes(lanes - 1) : [];
    const parts = [
      runLaneTask(partOfTask(task, 0), network, gradients, control),
      ...remote.map((lane, i) => lane.run(partOfTask(task, i + 1), tell)),
    ];
    // One that fails ends the others, and all have ended before anything else happens.
    for (const part of parts) part.catch(end);
    const settled = await Promise.allSettled(parts);
    signal?.removeEventListener("abort", end);
    if (thrown) throw thrown.error;
    const errors = settled.flatMap((part): unknown[] => (part.status === "rejected" ? [part.reason] : []));
    if (errors.length > 0) throw errors.find((error) => !isAbort(error)) ?? errors[0];
    if (task.kind === "accumulate") for (const lane of remote) gradients.addAll(lane.gradients);
    const results = settled.map((part) => (part.status === "fulfilled" ? part.value.values() : [].values()));
    return task.microbatches.map(({ lane }) => results[lane]!.next().value!);
  };

  return {
    run,
    weightsChanged() {
      stale = true;
      for (const lane of others) lane.weightsChanged();
    },
    async close() {
      await Promise.all(others.map((lane) => lane.close()));
      await network.close();
    },
  };
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "aborted";
}

function sharedNumbers(length: number): Float32Array {
  return new Float32Array(new SharedArrayBuffer(4 * length));
}
