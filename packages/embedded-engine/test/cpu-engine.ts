import { withCapabilities } from "../src/capabilities.js";
import { createCpuSampler } from "../src/decode/cpu-sampler.js";
import { createCpuTrainer } from "../src/trainer/trainer.js";
import { HeddleError } from "@heddle/errors";
import type { TrainingEngine, TrainerSpec, WeightsRef } from "@heddle/training";
import { openTokenizer } from "@heddle/chat-format";
import { listBaseModels } from "../src/weights/base-models.js";
import { writeCheckpoint } from "../src/weights/checkpoint.js";
import { initialAdapter } from "../src/weights/initial-weights.js";
import { checkedAdapter, loadWeights, weightsDigest } from "../src/weights/load-weights.js";
import { checkpointDigest } from "@heddle/training";

/** An engine with the real trainer and sampler in this process, without child processes. `memoryBytes` of the trainer. */
export function cpuEngine({ memoryBytes = 2 ** 30 } = {}): TrainingEngine {
  const models = {};
  const sampler = createCpuSampler({ memoryBytes: 2 ** 28 });
  const served = new Map<string, Promise<void>>();
  return {
    capabilities: async () => {
      const listed = await listBaseModels(models);
      const resources = { trainerBytes: memoryBytes, samplerBytes: 2 ** 28, threads: 2, trainers: 1, adapterRank: 8 };
      const { models: usable, problems } = withCapabilities(listed.models, resources);
      return { models: usable, unavailableModels: [...listed.problems, ...problems] };
    },
    health: async () => ({ ok: true }),
    weightsDigest: (weights) => weightsDigest(models, weights),
    adapterOf: (weights) => checkedAdapter(models, weights),
    openTrainer,
    deleteWeights: async () => undefined,
    sampler: {
      unsupportedFields: () => [],
      generate: async (request, options) => {
        await serve(request.weights);
        const result = await sampler.generate({ ...request, weights: idOf(request.weights) }, options);
        return { ...result, weightsId: request.weights.checkpoint ?? request.weights.baseModel };
      },
      preload: serve,
      unload: async (weights) => {
        served.delete(idOf(weights));
        await sampler.remove(idOf(weights));
      },
    },
    close: () => sampler.close(),
  };

  function serve(ref: WeightsRef): Promise<void> {
    const loading = served.get(idOf(ref)) ?? load(ref);
    served.set(idOf(ref), loading);
    return loading;
  }

  async function load(ref: WeightsRef): Promise<void> {
    const { base, adapter, ...model } = await loadWeights(models, ref);
    if (adapter) throw new HeddleError("unsupported", "Adapters are sampled from by the engine with processes.");
    await sampler.addModel(idOf(ref), { ...model, tokenizer: await openTokenizer(base.directory) });
  }

  async function openTrainer(spec: TrainerSpec) {
    const { base, baseDigest, ...loaded } = await loadWeights(models, spec.weights, {
      optimizer: !spec.resetOptimizer,
    });
    const fresh = spec.adapter && {
      config: spec.adapter,
      set: initialAdapter(loaded.config, spec.adapter, spec.seed),
    };
    const adapter = loaded.adapter ?? fresh;
    const trainer = await createCpuTrainer({ ...loaded, adapter, memoryBytes, threads: 2 });
    async function save(directory: string, optimizer: boolean): Promise<WeightsRef> {
      const written = await writeCheckpoint(directory, {
        baseModel: base.name,
        baseDigest,
        baseDirectory: base.directory,
        config: loaded.config,
        seed: spec.seed,
        trained: adapter ? { adapter } : { weights: trainer.weights },
        steps: trainer.optimizer.steps,
        optimizer: optimizer ? trainer.optimizer : undefined,
      });
      return { baseModel: base.name, checkpoint: directory, digest: checkpointDigest(written, baseDigest) };
    }
    return {
      ...trainer,
      adapter: adapter?.config,
      saveState: (directory: string) => save(directory, true),
      exportWeights: (directory: string, { state = false } = {}) => save(directory, state),
    };
  }
}

function idOf({ baseModel, checkpoint = "" }: WeightsRef): string {
  return `${baseModel} ${checkpoint}`;
}
