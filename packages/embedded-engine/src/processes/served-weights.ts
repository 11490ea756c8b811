import { join } from "node:path";
import type { LoraConfig, WeightsRef } from "@heddle/training";
import { HeddleError } from "@heddle/errors";
import { requireSamplingMemory } from "../model/memory.js";
import { adapterParameters, modelParameters, parameterCount } from "../model/parameters.js";
import type { Constraints } from "@heddle/structured-outputs";
import { openConstraints } from "@heddle/structured-outputs";
import type { Tokenizer } from "@heddle/chat-format";
import { openTokenizer } from "@heddle/chat-format";
import { ifExists } from "@heddle/durable-files";
import type { BaseModelSettings } from "../weights/base-models.js";
import { baseModelDigest } from "../weights/base-models.js";
import { readCheckpoint } from "../weights/checkpoint.js";
import { fileDigest } from "../weights/file-digests.js";
import type { WeightsDescription } from "../weights/load-weights.js";
import { describeWeights, loadWeights, weightsDigest } from "../weights/load-weights.js";
import { checkpointDigest } from "@heddle/training";
import type { CpuSampler } from "../decode/cpu-sampler.js";
import { defaultMode } from "../decode/prepared-weights.js";
import type { CacheLease, WeightsSource } from "./weights-cache.js";
import { weightsCache } from "./weights-cache.js";
import type { Sharer } from "./weights-turns.js";

export interface ServedWeights {
  /**
   * Returns a lease on the weights, loading them if necessary; a sharer waits for its turn. Rejects with `not_found`,
   * `invalid`, `too_large` or `busy`.
   */
  acquire(ref: WeightsRef, sharer?: Sharer): Promise<CacheLease>;
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

/**
 * Maps the port's weight references to registrations of `sampler`; see `weightsCache`. Weights are cached by content, so
 * a directory whose files are replaced serves its new weights.
 */
export function servedWeights(sampler: CpuSampler, models: BaseModelSettings, budgetBytes: number): ServedWeights {
  const cache = weightsCache(budgetBytes);
  /** The digest of the weights that each reference named last. */
  const digests = new Map<string, string>();
  /** Tokenizers and constraints by content; small enough not to count towards the memory limit. */
  const textComponentsByModel = new Map<string, Promise<TextComponents>>();

  async function textComponents({ base, config }: WeightsDescription): Promise<TextComponents> {
    const key = JSON.stringify([await tokenizerDigests(base.directory), config.vocabularySize]);
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

  /** Returns the source of a model whose digest is known; the files are refused if they are replaced before the load. */
  function modelSource(ref: WeightsRef, description: WeightsDescription): WeightsSource {
    const bytes = bytesPerParameter * parameterCount(modelParameters(description.config));
    const prepacked = bytes * prepackedCopies[ref.checkpoint === undefined ? "base" : "checkpoint"];
    // Prepacked copies must not evict other weights.
    const mode = prepacked <= budgetBytes / 2 ? defaultMode(bytes) : "outputsFirst";
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

  function adapterSource(
    { directory, digest, baseDigest }: { directory: string; digest: string; baseDigest: string },
    shape: LoraConfig,
    { base, config }: WeightsDescription,
  ): WeightsSource {
    const baseRef = { baseModel: base.name, digest: baseDigest };
    return {
      base: { name: baseDigest, source: modelSource(baseRef, { base, config }) },
      size: async () => bytesPerParameter * parameterCount(adapterParameters(config, shape)),
      async load(id, baseId) {
        if (baseId === undefined) throw new HeddleError("failed", "the adapter was loaded before its base model");
        const { state, trained } = await readCheckpoint(directory, config);
        if (!("adapter" in trained) || checkpointDigest(state, baseDigest) !== digest) {
          throw new HeddleError("conflict", "the checkpoint was replaced while it was read; try again");
        }
        await sampler.addAdapter(id, baseId, trained.adapter);
      },
      drop: (id) => sampler.remove(id),
    };
  }

  return {
    async acquire(ref, sharer) {
      // Known weights are served even if their directory has been removed.
      const named = ref.digest === undefined ? undefined : await cache.acquireCached(ref.digest, sharer);
      if (named) return named;
      const digest = await weightsDigest(models, ref);
      digests.set(keyOf(ref), digest);
      const known = await cache.acquireCached(digest, sharer);
      if (known) return known;
      const description = await describeWeights(models, ref);
      const { base, adapter } = description;
      const { checkpoint } = ref;
      if (!adapter || checkpoint === undefined) {
        return cache.acquire(digest, modelSource({ ...ref, digest }, description), sharer);
      }
      const baseDigest = await baseModelDigest(models, base.name);
      const source = adapterSource({ directory: checkpoint, digest, baseDigest }, adapter, description);
      return cache.acquire(digest, source, sharer);
    },
    async invalidate(ref) {
      const digest = ref.digest ?? digests.get(keyOf(ref));
      digests.delete(keyOf(ref));
      if (digest !== undefined) await cache.invalidate(digest);
    },
  };
}

function keyOf({ baseModel, checkpoint }: WeightsRef): string {
  return JSON.stringify([baseModel, checkpoint ?? null]);
}

/** Files that determine the tokens of a model and their text. */
const tokenizerFiles = [
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "generation_config.json",
  "config.json",
];

/** Returns the digests of the tokenizer's files, null for a missing one. */
async function tokenizerDigests(directory: string): Promise<(string | null)[]> {
  const found = tokenizerFiles.map((name) => ifExists(fileDigest(join(directory, name))));
  return (await Promise.all(found)).map((digest) => digest ?? null);
}
