import type { LoraConfig } from "@heddle/training";
import { HeddleError, withLoc } from "@heddle/errors";
import { sameAdapter } from "../model/lora-config.js";
import { trainingMemory } from "../model/memory.js";
import type { ParameterSet } from "../model/parameters.js";
import type { CpuTrainer } from "../trainer/trainer.js";
import { createCpuTrainer } from "../trainer/trainer.js";
import { readCheckpoint, writeCheckpoint } from "../weights/checkpoint.js";
import { initialAdapter } from "../weights/initial-weights.js";
import type { LoadedWeights } from "../weights/load-weights.js";
import { loadWeights, weightsDigest } from "../weights/load-weights.js";
import type { OptimizerState } from "../weights/optimizer-file.js";
import type { TrainingState } from "../weights/training-state.js";
import { readTrainingState } from "../weights/training-state.js";
import { checkpointDigest } from "@heddle/training";
import { baseModelDigest, exportName } from "../weights/base-models.js";
import type { TrainerMethods, TrainerOpening } from "./trainer-protocol.js";

/** The trainer of a process. */
export interface OpenedTrainer {
  readonly cpu: CpuTrainer;
  /** Opens another trainer with the same graphs and arrays. See `TrainerMethods`. */
  reopen(trainerOptions: TrainerOpening): Promise<boolean>;
  optimStep: CpuTrainer["optimStep"];
  save(params: TrainerMethods["save"]["params"]): Promise<TrainerMethods["save"]["result"]>;
}

export async function openTrainer(trainerOptions: TrainerOpening): Promise<OpenedTrainer> {
  const { models, spec, memoryBytes, threads } = trainerOptions;
  const { base, baseDigest, ...loaded } = await withLoc(["weights"], () =>
    loadWeights(models, spec.weights, { optimizer: !spec.resetOptimizer }),
  );
  const adapter = adapterOf(spec, loaded);
  // Moments of all weights do not apply to an adapter that starts from them.
  const optimizer = adapter && !loaded.adapter ? undefined : loaded.optimizer;
  const { config, weights } = loaded;
  const cpu = await createCpuTrainer({ config, weights, adapter, optimizer, memoryBytes, threads });
  let { seed } = spec;
  /** Identifies the saved state that the trainer is in; undefined after an optimizer step. */
  let savedState: string | undefined;

  return {
    cpu,
    async reopen({ spec }) {
      if ((await baseModelDigest(models, spec.weights.baseModel)) !== baseDigest) return false;
      await withLoc(["weights"], () => weightsDigest(models, spec.weights));
      const { checkpoint } = spec.weights;
      const state = checkpoint === undefined ? undefined : await readTrainingState(checkpoint);
      if (!isSameKind(spec.adapter, state)) return false;
      if (state === undefined || spec.resetOptimizer || keyOf(state) !== savedState) {
        const read = cpu.adapter ? await readAdapterState(spec, cpu.adapter.config) : await readFullState(spec);
        if (!read) return false;
        await cpu.replaceState(read.trained, read.optimizer);
        savedState = undefined;
      }
      ({ seed } = spec);
      return true;
    },
    optimStep(settings) {
      savedState = undefined;
      return cpu.optimStep(settings);
    },
    async save({ directory, optimizer: withOptimizer, dtype }) {
      if (withOptimizer && dtype === "BF16") {
        throw new HeddleError("invalid", "a state to resume from is saved in f32: bf16 would round its weights", {
          loc: ["options", "format"],
        });
      }
      const state = cpu.optimizer;
      const written = await writeCheckpoint(directory, {
        baseModel: base.name,
        baseDigest,
        baseName: await exportName(models, base.name),
        dtype,
        baseDirectory: base.directory,
        config,
        seed,
        trained: cpu.adapter ? { adapter: cpu.adapter } : { weights: cpu.weights },
        steps: state.steps,
        optimizer: withOptimizer ? state : undefined,
      });
      if (withOptimizer) savedState = keyOf(written);
      return { baseModel: base.name, checkpoint: directory, digest: checkpointDigest(written, baseDigest) };
    },
  };

  /** Returns whether what is to be trained has the graphs and arrays of this trainer. */
  function isSameKind(requested: LoraConfig | undefined, from: TrainingState | undefined): boolean {
    const own = cpu.adapter?.config;
    // A checkpoint's own adapter is compared when it has been read.
    if (from?.training === "adapter") return own !== undefined;
    return requested ? own !== undefined && !from && sameAdapter(requested, own) : own === undefined;
  }

  async function readAdapterState(spec: TrainerOpening["spec"], shape: LoraConfig): Promise<TrainedState | undefined> {
    const { checkpoint } = spec.weights;
    if (checkpoint === undefined) return { trained: initialAdapter(config, shape, spec.seed).flat };
    const { trained, optimizer } = await withLoc(["weights"], () =>
      readCheckpoint(checkpoint, config, { optimizer: !spec.resetOptimizer }),
    );
    if (!("adapter" in trained) || !sameAdapter(trained.adapter.config, shape)) return undefined;
    return { trained: trained.adapter.set.flat, optimizer };
  }

  async function readFullState(spec: TrainerOpening["spec"]): Promise<TrainedState | undefined> {
    // The weights and both moments exist twice while they are replaced.
    const { total, parts } = trainingMemory(config);
    if (total + 3 * (parts["weights"] ?? 0) > memoryBytes) return undefined;
    const read = await withLoc(["weights"], () =>
      loadWeights(models, spec.weights, { optimizer: !spec.resetOptimizer }),
    );
    if (read.adapter || read.weights.flat.length !== cpu.weights.flat.length) return undefined;
    return { trained: read.weights.flat, optimizer: read.optimizer };
  }
}

interface TrainedState {
  trained: Float32Array;
  optimizer?: OptimizerState;
}

/** Two states with the same key have the same weights, moments and steps. */
function keyOf({ training, steps, files }: TrainingState): string {
  return JSON.stringify([training, steps, [...files].toSorted(([one], [other]) => (one < other ? -1 : 1))]);
}

/** Returns the adapter to train: a checkpoint's own adapter, or a new one. */
function adapterOf(
  { adapter, weights, seed }: TrainerOpening["spec"],
  loaded: Pick<LoadedWeights, "adapter" | "config">,
): { config: LoraConfig; set: ParameterSet } | undefined {
  if (loaded.adapter) return loaded.adapter;
  if (!adapter) return undefined;
  if (weights.checkpoint !== undefined) {
    throw new HeddleError(
      "unsupported",
      "an adapter cannot start from a checkpoint of fully trained weights; start from its base model, or train all weights",
      { loc: ["adapter"] },
    );
  }
  return { config: adapter, set: initialAdapter(loaded.config, adapter, seed) };
}
