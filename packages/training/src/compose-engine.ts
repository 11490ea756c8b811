import { HeddleError } from "@heddle/errors";
import type {
  BaseModelInfo,
  BaseModelName,
  EngineHealth,
  EngineProvider,
  SamplerProvider,
  TrainerProvider,
  TrainingEngine,
  UnavailableModel,
} from "./port.js";

interface Providers {
  trainers: readonly TrainerProvider[];
  samplers: readonly SamplerProvider[];
}

/**
 * Composes an engine of providers that train and providers that sample; one may do both. A model belongs to the provider
 * that names it in `models`, otherwise to the one without names. So one provider can train a model and another sample it.
 */
export function composeEngine({ trainers, samplers }: Providers): TrainingEngine {
  const providers = new Set<EngineProvider>([...trainers, ...samplers]);
  const samplerOf = (baseModel: BaseModelName) => providerOf(samplers, baseModel).sampler;
  return {
    async capabilities() {
      const models = new Map<BaseModelName, BaseModelInfo>();
      // Two providers of one model read the same directory: it is listed once.
      const unavailable = new Map<BaseModelName, UnavailableModel>();
      for (const provider of providers) {
        const capabilities = await provider.capabilities();
        for (const model of capabilities.unavailableModels) unavailable.set(model.name, model);
        for (const { training, sampling, ...model } of capabilities.models) {
          const trains = training && find(trainers, model.name) === provider;
          const samples = sampling && find(samplers, model.name) === provider;
          if (!trains && !samples) continue;
          models.set(model.name, {
            ...model,
            ...models.get(model.name),
            ...(trains && { training }),
            ...(samples && { sampling }),
          });
        }
      }
      return { models: [...models.values()], unavailableModels: [...unavailable.values()] };
    },
    async health() {
      return combine(await Promise.all([...providers].map((provider) => provider.health())));
    },
    async weightsDigest(weights) {
      return providerOf(trainers, weights.baseModel).weightsDigest(weights);
    },
    async adapterOf(weights) {
      return providerOf(trainers, weights.baseModel).adapterOf(weights);
    },
    async openTrainer(spec, signal) {
      return providerOf(trainers, spec.weights.baseModel).openTrainer(spec, signal);
    },
    async exportModel(weights, wanted, signal) {
      const provider = providerOf(trainers, weights.baseModel);
      if (provider.exportModel) return await provider.exportModel(weights, wanted, signal);
      const message = `the weights of ${weights.baseModel} are on a training server, not on this machine: only its adapters can be exported`;
      throw new HeddleError("unsupported", message, { loc: ["weights", "baseModel"] });
    },
    async writeUntrainedAdapter(baseModel, adapter, directory) {
      const provider = providerOf(trainers, baseModel);
      if (provider.writeUntrainedAdapter) return await provider.writeUntrainedAdapter(baseModel, adapter, directory);
      const message = `${baseModel} is on a training server, which makes its adapters`;
      throw new HeddleError("unsupported", message, { loc: ["weights", "baseModel"] });
    },
    async deleteWeights(weights) {
      await providerOf(trainers, weights.baseModel).deleteWeights(weights);
    },
    sampler: {
      unsupportedFields(request) {
        const named = request.weights && find(samplers, request.weights.baseModel);
        const asked = named ? [named] : samplers;
        return [...new Set(asked.flatMap(({ sampler }) => sampler.unsupportedFields(request)))];
      },
      async generate(request, options) {
        return samplerOf(request.weights.baseModel).generate(request, options);
      },
      async preload(weights) {
        await samplerOf(weights.baseModel).preload(weights);
      },
      async unload(weights) {
        await samplerOf(weights.baseModel).unload(weights);
      },
    },
    async close() {
      await Promise.all([...providers].map((provider) => provider.close()));
    },
  };
}

function find<Provider extends EngineProvider>(
  providers: readonly Provider[],
  baseModel: BaseModelName,
): Provider | undefined {
  return providers.find(({ models }) => models?.has(baseModel)) ?? providers.find(({ models }) => !models);
}

function providerOf<Provider extends EngineProvider>(
  providers: readonly Provider[],
  baseModel: BaseModelName,
): Provider {
  const provider = find(providers, baseModel);
  if (provider) return provider;
  throw new HeddleError("not_found", `there is no base model ${JSON.stringify(baseModel)}`, {
    loc: ["weights", "baseModel"],
  });
}

function combine(found: EngineHealth[]): EngineHealth {
  const details = found.flatMap(({ ok, detail }) => (ok ? [] : [detail ?? "a provider is not healthy"]));
  return details.length === 0 ? { ok: true } : { ok: false, detail: details.join("; ") };
}
