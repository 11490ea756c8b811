import type { BaseModelInfo, SamplerProvider, TrainerProvider, TrainingEngine } from "./port.js";

/**
 * Composes an engine of a provider that trains and one that samples, which may be the same. A model has the training
 * capabilities of the first and the sampling capabilities of the second.
 */
export function composeEngine(trainer: TrainerProvider, sampler: SamplerProvider): TrainingEngine {
  const providers = [...new Set([trainer, sampler])];
  return {
    async capabilities() {
      const [trainable, sampled] = await Promise.all([trainer.capabilities(), sampler.capabilities()]);
      const models = new Map<string, BaseModelInfo>();
      for (const { sampling: _, ...model } of trainable.models) models.set(model.name, model);
      for (const { training: _, ...model } of sampled.models) {
        const { sampling } = model;
        const known = models.get(model.name);
        models.set(model.name, known ? { ...known, ...(sampling && { sampling }) } : model);
      }
      return { models: [...models.values()].filter(({ training, sampling }) => training ?? sampling) };
    },
    async health() {
      const found = await Promise.all(providers.map((provider) => provider.health()));
      const details = found.flatMap(({ ok, detail }) => (ok ? [] : [detail ?? "a provider is not healthy"]));
      const unavailableModels = found.flatMap((each) => each.unavailableModels ?? []);
      return {
        ...(details.length === 0 ? { ok: true } : { ok: false, detail: details.join("; ") }),
        ...(unavailableModels.length > 0 && { unavailableModels }),
      };
    },
    weightsDigest: (weights) => trainer.weightsDigest(weights),
    openTrainer: (spec, signal) => trainer.openTrainer(spec, signal),
    deleteWeights: (weights) => trainer.deleteWeights(weights),
    sampler: sampler.sampler,
    async close() {
      await Promise.all(providers.map((provider) => provider.close()));
    },
  };
}
