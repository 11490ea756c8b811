import { EngineError } from "../../engine-error.js";
import type { PreparedBase, PreparedWeights } from "./prepared-weights.js";
import type { SamplerModel } from "./sampler-model.js";

/** Weights under their name, with what else a request on them needs. */
export interface RegisteredWeights {
  prepared: PreparedWeights;
  model: SamplerModel;
  /** What adapters are put on. */
  base: PreparedBase;
  release(): Promise<void>;
}

interface WeightsLease {
  served: RegisteredWeights;
  release(): void;
}

/** Which weights are served, and who uses them. */
export interface WeightsRegistry {
  add(id: string, load: () => Promise<RegisteredWeights>): Promise<void>;
  /** Keeps the weights until the lease is given back. `not_found` when there are none of this name. */
  acquire(id: string): WeightsLease;
  remove(id: string): Promise<void>;
  /** Frees all, in use or not. */
  close(): Promise<void>;
}

interface Entry {
  served: RegisteredWeights;
  users: number;
  /** Called when the last user is gone, once the entry is to go. */
  onUnused?: () => void;
}

export function createWeightsRegistry(): WeightsRegistry {
  const entries = new Map<string, Entry>();
  const loading = new Set<string>();
  /** Removed ones that are still in use. */
  const removed = new Set<Entry>();

  return {
    async add(id, load) {
      if (entries.has(id) || loading.has(id)) throw new EngineError("invalid", `weights ${id} are served already`);
      loading.add(id);
      try {
        entries.set(id, { served: await load(), users: 0 });
      } finally {
        loading.delete(id);
      }
    },
    acquire(id) {
      const entry = entries.get(id);
      if (!entry) throw new EngineError("not_found", `no weights ${id} are loaded`);
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
      // Adapters before the models they are on: those hold the sessions.
      await Promise.all(all.map(({ served }) => served.release()));
    },
  };
}
