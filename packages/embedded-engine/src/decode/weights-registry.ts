import { HeddleError } from "@heddle/errors";
import type { PreparedBase, PreparedWeights } from "./prepared-weights.js";
import type { SamplerModel } from "./sampler-model.js";

/** Registered weights, with everything that requests on them need. */
export interface RegisteredWeights {
  prepared: PreparedWeights;
  model: SamplerModel;
  /** The base that adapters are added to. */
  base: PreparedBase;
  release(): Promise<void>;
}

interface WeightsLease {
  served: RegisteredWeights;
  release(): void;
}

/** Registry of weights with reference counts. */
export interface WeightsRegistry {
  add(id: string, load: () => Promise<RegisteredWeights>): Promise<void>;
  /** Keeps the weights until the lease is released. Throws `not_found` for an unknown id. */
  acquire(id: string): WeightsLease;
  remove(id: string): Promise<void>;
  /** Frees all weights, also those in use. */
  close(): Promise<void>;
}

interface Entry {
  served: RegisteredWeights;
  users: number;
  /** Called when the last user of a removed entry releases it. */
  onUnused?: () => void;
}

export function createWeightsRegistry(): WeightsRegistry {
  const entries = new Map<string, Entry>();
  const loading = new Set<string>();
  /** Removed entries that are still in use. */
  const removed = new Set<Entry>();

  return {
    async add(id, load) {
      if (entries.has(id) || loading.has(id))
        throw new HeddleError("invalid", `the weights ${id} are already registered`);
      loading.add(id);
      try {
        entries.set(id, { served: await load(), users: 0 });
      } finally {
        loading.delete(id);
      }
    },
    acquire(id) {
      const entry = entries.get(id);
      if (!entry) throw new HeddleError("not_found", `there are no weights ${id}`);
      entry.users++;
      let held = true;
      return {
        served: entry.served,
        release() {
          if (held && --entry.users === 0) entry.onUnused?.();
          held = false;
        },
      };
    },
    async remove(id) {
      const entry = entries.get(id);
      if (!entry) return;
      entries.delete(id);
      removed.add(entry);
      if (entry.users > 0) await new Promise<void>((resolve) => (entry.onUnused = resolve));
      if (removed.delete(entry)) await entry.served.release();
    },
    async close() {
      const all = [...entries.values(), ...removed];
      entries.clear();
      removed.clear();
      // Adapters are released before their models, whose sessions they use.
      await Promise.all(all.map(({ served }) => served.release()));
    },
  };
}
