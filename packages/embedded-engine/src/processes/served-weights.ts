import type { LoraConfig, WeightsRef } from "@heddle/training";
import { HeddleError } from "@heddle/errors";
import { requireSamplingMemory } from "../model/memory.js";
import { adapterParameters, modelParameters, parameterCount } from "../model/parameters.js";
import type { Constraints } from "@heddle/structured-outputs";
import { openConstraints } from "@heddle/structured-outputs";
import type { Tokenizer } from "@heddle/chat-format";
import { openTokenizer } from "@heddle/chat-format";
import type { BaseModelSettings } from "../weights/base-models.js";
import { readCheckpoint } from "../weights/checkpoint.js";
import type { WeightsDescription } from "../weights/load-weights.js";
import { describeWeights, loadWeights } from "../weights/load-weights.js";
import type { CpuSampler } from "../decode/cpu-sampler.js";
import { defaultMode } from "../decode/prepared-weights.js";
import type { CacheLease, WeightsSource } from "./weights-cache.js";
import { weightsCache } from "./weights-cache.js";

export interface ServedWeights {
  /**
   * Returns a lease on the weights, loading them if necessary. Rejects with `not_found`, `invalid`, `too_large` or
   * `busy`.
   */
  acquire(ref: WeightsRef): Promise<CacheLease>;
  invalidate(ref: WeightsRef): Promise<void>;
}

interface TextComponents {
  tokenizer: Tokenizer;
  constraints: Constraints;
}

const bytesPerParameter = 4;

/**
 * Memory of prepacked weights, in copies: the weights and two copies in the library, and two more for the adapters on a
 * base model.
 */
const prepackedCopies = { checkpoint: 3, base: 5 };

/** Maps the port's weight references to registrations of `sampler`; see `weightsCache`. */
export function servedWeights(sampler: CpuSampler, models: BaseModelSettings, budgetBytes: number): ServedWeights {
  const cache = weightsCache(budgetBytes);
  /** Tokenizers and constraints by model; small enough not to count towards the memory limit. */
  const textComponentsByModel = new Map<string, Promise<TextComponents>>();

  function textComponents({ base, config }: WeightsDescription): Promise<TextComponents> {
    const key = JSON.stringify([base.directory, config.vocabularySize]);
    const known = textComponentsByModel.get(key);
    if (known) return known;
    const opened = openTokenizer(base.directory).then((tokenizer) => ({
      tokenizer,
      constraints: openConstraints(tokenizer, { vocabularySize: config.vocabularySize }),
    }));
    textComponentsByModel.set(key, opened);
    opened.catch(() => textComponentsByModel.delete(key));
    return opened;
  }

  function modelSource(ref: WeightsRef, description: WeightsDescription): WeightsSource {
    const bytes = bytesPerParameter * parameterCount(modelParameters(description.config));
    const prepacked = bytes * prepackedCopies[ref.checkpoint === undefined ? "base" : "checkpoint"];
    // Prepacked copies must not evict other weights.
    const mode = prepacked <= budgetBytes / 2 ? defaultMode(bytes) : "inputs";
    return {
      async size() {
        requireSamplingMemory(description.config, budgetBytes);
        return mode === "prepacked" ? prepacked : bytes;
      },
      async load(id) {
        const { config, weights } = await loadWeights(models, ref);
        await sampler.addModel(id, { config, weights, mode, ...(await textComponents(description)) });
      },
      drop: (id) => sampler.remove(id),
    };
  }

  function adapterSource(directory: string, shape: LoraConfig, description: WeightsDescription): WeightsSource {
    const { base, config } = description;
    const baseRef = { baseModel: base.name };
    return {
      base: { name: nameOf(baseRef), source: modelSource(baseRef, { base, config }) },
      size: async () => bytesPerParameter * parameterCount(adapterParameters(config, shape)),
      async load(id, baseId) {
        if (baseId === undefined) throw new HeddleError("failed", "the adapter was loaded before its base model");
        const { trained } = await readCheckpoint(directory, config);
        if (!("adapter" in trained)) throw new HeddleError("conflict", "the checkpoint changed while it was read");
        await sampler.addAdapter(id, baseId, trained.adapter);
      },
      drop: (id) => sampler.remove(id),
    };
  }

  return {
    async acquire(ref) {
      const name = nameOf(ref);
      const known = cache.acquireCached(name);
      if (known) return known;
      const description = await describeWeights(models, ref);
      const { adapter } = description;
      const { checkpoint } = ref;
      return adapter && checkpoint !== undefined
        ? cache.acquire(name, adapterSource(checkpoint, adapter, description))
        : cache.acquire(name, modelSource(ref, description));
    },
    invalidate: (ref) => cache.invalidate(nameOf(ref)),
  };
}

function nameOf({ baseModel, checkpoint }: WeightsRef): string {
  return JSON.stringify([baseModel, checkpoint ?? null]);
}
