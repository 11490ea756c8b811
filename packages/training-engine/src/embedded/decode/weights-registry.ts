import { EngineError } from "../../engine-error.js";
import type { LoadedBase, LoadedWeights } from "./loaded-weights.js";
import type { SamplerModel } from "./cpu-sampler.js";

/** Weights under their name, with what else a request on them needs. */
export interface ServedWeights {
  loaded: LoadedWeights;
  model: SamplerModel;
  /** What adapters are put on. */
  base: LoadedBase;
  release(): Promise<void>;
}

interface WeightsLease {
  served: ServedWeights;
  release(): void;
}

/** Which weights are served, and who uses them. */
export interface WeightsRegistry {
  add(id: string, load: () => Promise<ServedWeights>): Promise<void>;
  /** Keeps the weights until the lease is given back. `not_found` when there are none of this name. */
  acquire(id: string): WeightsLease;
  remove(id: string): Promise<void>;
  /** Frees all, in use or not. */
  close(): Promise<void>;
}

interface Entry {
  served: ServedWeights;
  users: number;
  /** Called when the last user is gone, once the entry is to go. */
  unused?: () => void;
}

export function createWeightsRegistry(): WeightsRegistry {
  const entries = new Map<string, Entry>();
  const loading = new Set<string>();
  /** Removed ones that are still in use. */
  const leaving = new Set<Entry>();

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
          if (held && --entry.users === 0) entry.unused?.();
          held = false;
        },
      };
    },
    async remove(id) {
      const entry = entries.get(id);
      if (!entry) return;
      entries.delete(id);
      leaving.add(entry);
      if (entry.users > 0) await new Promise<void>((resolve) => (entry.unused = resolve));
      if (leaving.delete(entry)) await entry.served.release();
    },
    async close() {
      const all = [...entries.values(), ...leaving];
      entries.clear();
      leaving.clear();
      // Adapters before the models they are on: those hold the sessions.
      await Promise.all(all.map(({ served }) => served.release()));
    },
  };
}
