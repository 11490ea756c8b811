import { createCpuTrainer } from "../src/embedded/trainer/trainer.js";
import { EngineError } from "../src/engine-error.js";
import type { Engine, TrainerSpec } from "../src/port.js";
import { surveyBaseModels } from "../src/weights/base-models.js";
import { writeCheckpoint } from "../src/weights/checkpoint.js";
import { initialAdapter } from "../src/weights/initial-weights.js";
import { loadWeights } from "../src/weights/load-weights.js";

/** The real trainer behind the port, in this process: no child to wait for. It does not sample. */
export function cpuEngine(): Engine {
  const models = {};
  return {
    kind: "embedded",
    capabilities: async () => ({
      models: (await surveyBaseModels(models)).models,
      fullFineTuning: true,
      adapters: true,
      sampling: [],
    }),
    health: async () => ({ ok: true }),
    openTrainer,
    sampler: { generate: noSampler, preload: noSampler, unload: noSampler },
    close: async () => undefined,
  };

  async function openTrainer(spec: TrainerSpec) {
    const { base, ...loaded } = await loadWeights(models, spec.weights, { optimizer: !spec.resetOptimizer });
    const fresh = spec.adapter && {
      config: spec.adapter,
      set: initialAdapter(loaded.config, spec.adapter, spec.seed),
    };
    const adapter = loaded.adapter ?? fresh;
    const trainer = await createCpuTrainer({ ...loaded, adapter, memoryBytes: 2 ** 30 });
    return {
      ...trainer,
      save: async (directory: string, options?: { optimizer?: boolean }) => {
        await writeCheckpoint(directory, {
          baseModel: base.name,
          baseDirectory: base.directory,
          config: loaded.config,
          seed: spec.seed,
          trained: adapter ? { adapter } : { weights: trainer.weights },
          steps: trainer.optimizer.steps,
          optimizer: options?.optimizer ? trainer.optimizer : undefined,
        });
        return { baseModel: base.name, checkpoint: directory };
      },
    };
  }
}

async function noSampler(): Promise<never> {
  throw new EngineError("unsupported", "This engine does not sample.");
}
