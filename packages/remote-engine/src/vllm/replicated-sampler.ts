import { createHash } from "node:crypto";
import { HeddleError } from "@heddle/errors";
import type { GenerateRequest, SamplerProvider, WeightsRef } from "@heddle/training";

/** One of several servers with the same models. */
interface Replica {
  /** Address without credentials, for messages. */
  host: string;
  provider: SamplerProvider;
}

/** How long a replica that is away gets no request if another one is there. */
const awayMs = 10_000;
/** Tokens of the beginning of a prompt that decide where it goes: conversations with equal beginnings share a cache. */
const prefixTokens = 256;
/** A replica gets no more than its share of the running requests, times this. */
const mostOfShare = 1.25;
/** Log-probabilities of replicas on the same hardware differ by rounding alone. */
const tolerance = 0.05;

/**
 * A sampler of several servers. Adapters are loaded on each; a request goes to the one that has read the beginning of its
 * prompt under the same weights, unless that has more than its share of the running requests. One that is away is left out
 * for a while, and a request that it has not begun goes to another. Before its first request, and when it is back, its
 * log-probabilities are compared with those of another one.
 */
export function replicatedSampler(replicas: readonly Replica[]): SamplerProvider {
  const [first] = replicas;
  if (first === undefined) throw new HeddleError("invalid", "there is no inference server", { loc: ["url"] });
  const awayUntil = new Map<Replica, number>();
  const running = new Map<Replica, number>(replicas.map((replica) => [replica, 0]));
  /**
   * Replicas that were not compared with another, or were away since then: they may have other weights. The first one is what
   * the others are compared with.
   */
  const uncompared = new Set<Replica>(replicas.slice(1));
  /** Comparisons that are being made. */
  const comparing = new Map<Replica, Promise<void>>();
  /** Why a replica that is there gets no requests. */
  const distrusted = new Map<Replica, string>();

  const isAway = (replica: Replica) => (awayUntil.get(replica) ?? 0) > performance.now();
  const present = () => {
    const found = replicas.filter((replica) => !isAway(replica));
    // When all are away, one may have come back.
    return found.length > 0 ? found : replicas;
  };

  /** Calls a replica, and notes whether it is there. */
  async function using<T>(replica: Replica, work: (provider: SamplerProvider) => Promise<T>): Promise<T> {
    try {
      const result = await work(replica.provider);
      awayUntil.delete(replica);
      return result;
    } catch (error) {
      if (meansAway(error)) leaveOut(replica);
      throw error;
    }
  }

  function leaveOut(replica: Replica): void {
    awayUntil.set(replica, performance.now() + awayMs);
    uncompared.add(replica);
  }

  /** Compares a replica with another one, if there is any. Throws `failed` when it has other weights. */
  async function checkWeights(replica: Replica, weights: WeightsRef): Promise<void> {
    const running = comparing.get(replica) ?? compareWithOther(replica, weights);
    comparing.set(replica, running);
    await running.finally(() => comparing.delete(replica));
  }

  async function compareWithOther(replica: Replica, weights: WeightsRef): Promise<void> {
    const other = replicas.find((each) => each !== replica && !uncompared.has(each) && !isAway(each));
    if (other === undefined) return;
    try {
      await compare(weights, [other, replica]);
    } catch (error) {
      leaveOut(replica);
      if (error instanceof HeddleError) distrusted.set(replica, error.message);
      throw error;
    }
    if (isAway(replica)) throw new HeddleError("busy", `${replica.host} is away`);
    uncompared.delete(replica);
    distrusted.delete(replica);
  }

  /** The replicas for a request, best first. */
  function inOrder({ weights, prompt, cacheSalt = "" }: GenerateRequest): Replica[] {
    const id = weights.digest ?? weights.checkpoint ?? weights.baseModel;
    const prefix = Array.from(prompt.subarray(0, prefixTokens));
    const rankOf = ({ host }: Replica) =>
      createHash("sha256")
        .update(JSON.stringify([host, id, cacheSalt, prefix]))
        .digest("hex");
    const here = present();
    const total = here.reduce((sum, replica) => sum + (running.get(replica) ?? 0), 1);
    const most = Math.ceil((mostOfShare * total) / here.length);
    const ranked = here.map((replica) => ({ replica, rank: rankOf(replica) }));
    const sorted = ranked.toSorted((one, other) => (one.rank < other.rank ? -1 : 1)).map(({ replica }) => replica);
    const isFull = (replica: Replica) => (running.get(replica) ?? 0) >= most;
    return [...sorted.filter((replica) => !isFull(replica)), ...sorted.filter(isFull)];
  }

  /** Does the same on every replica that is there. Throws unless one of them has done it, and what none of them can do. */
  async function onEach(work: (provider: SamplerProvider) => Promise<unknown>): Promise<Replica[]> {
    const outcomes = await Promise.all(
      present().map(async (replica) => {
        const error: unknown = await using(replica, work).then(
          () => undefined,
          (reason: unknown) => reason ?? new Error("no reason"),
        );
        return { replica, error };
      }),
    );
    const done = outcomes.flatMap(({ replica, error }) => (error === undefined ? [replica] : []));
    const wrong = outcomes.find(({ error }) => error !== undefined && !meansAway(error));
    if (wrong !== undefined) throw named(wrong.error, wrong.replica);
    if (done.length === 0) throw outcomes[0]?.error;
    return done;
  }

  /** Throws `failed` when replicas compute different log-probabilities of the same weights. */
  async function compare(weights: WeightsRef, among: readonly Replica[]): Promise<void> {
    const found = await Promise.all(
      among.map(async (replica) => {
        const values = await using(replica, (one) => probe(one, weights)).catch((error: unknown) => {
          if (!meansAway(error)) throw named(error, replica);
        });
        return values === undefined ? [] : [{ replica, values }];
      }),
    );
    const [reference, ...others] = found.flat();
    for (const { replica, values } of others) {
      const difference = Math.max(...values.map((value, at) => Math.abs(value - (reference?.values[at] ?? NaN))));
      if (difference <= tolerance) continue;
      const hosts = `${reference?.replica.host} and ${replica.host}`;
      const message = `the inference servers ${hosts} compute different log-probabilities (by ${difference.toPrecision(2)}): one of them has other weights`;
      throw new HeddleError("failed", message);
    }
  }

  return {
    ...(first.provider.models && { models: first.provider.models }),
    capabilities: () => first.provider.capabilities(),
    async health() {
      const all = await Promise.all(
        replicas.map(async (replica) => {
          const detail = distrusted.get(replica);
          const health = detail === undefined ? await replica.provider.health() : { ok: false, detail };
          return { host: replica.host, health };
        }),
      );
      const failing = all.filter(({ health }) => !health.ok);
      if (failing.length === 0) return { ok: true };
      const detail = failing.map(({ host, health }) => `${host}: ${health.detail ?? ""}`).join("; ");
      // The others do its work.
      return { ok: failing.length < replicas.length, detail };
    },
    sampler: {
      unsupportedFields: (request) => first.provider.sampler.unsupportedFields(request),
      async generate(request, options = {}) {
        let hasBegun = false;
        let failure: unknown;
        for (const replica of inOrder(request)) {
          // Without a pause before: requests of the same moment count those before them.
          running.set(replica, (running.get(replica) ?? 0) + 1);
          let isCompared = false;
          try {
            if (uncompared.has(replica)) await checkWeights(replica, request.weights);
            isCompared = true;
            return await using(replica, ({ sampler }) =>
              sampler.generate(request, {
                ...options,
                onChunk(chunk) {
                  hasBegun = true;
                  options.onChunk?.(chunk);
                },
              }),
            );
          } catch (error) {
            failure = error;
            // Another one may do the work.
            if (isCompared && (hasBegun || !meansAway(error))) throw error;
          } finally {
            running.set(replica, (running.get(replica) ?? 1) - 1);
          }
        }
        throw failure;
      },
      async preload(weights) {
        const loaded = await onEach(({ sampler }) => sampler.preload(weights));
        if (loaded.length > 1) await compare(weights, loaded);
        for (const replica of loaded) if (!distrusted.has(replica)) uncompared.delete(replica);
      },
      async unload(weights) {
        await onEach(({ sampler }) => sampler.unload(weights)).catch((error: unknown) => {
          // Whoever is away has lost it, or drops it when it is full.
          if (!meansAway(error)) throw error;
        });
      },
    },
    async close() {
      await Promise.all(replicas.map(({ provider }) => provider.close()));
    },
  };
}

async function probe({ sampler }: SamplerProvider, weights: WeightsRef): Promise<number[]> {
  const prompt = Int32Array.from({ length: 12 }, (_, at) => 3 + 7 * at);
  const ofPrompt = async () =>
    await sampler.generate({ weights, prompt, n: 1, maxTokens: 1, promptLogprobs: 0 }).catch((error: unknown) => {
      // What a server can do is not known before the first request.
      if (!(error instanceof HeddleError) || error.code !== "unsupported") throw error;
    });
  const scored = sampler.unsupportedFields({ promptLogprobs: 0 }).length > 0 ? undefined : await ofPrompt();
  if (scored === undefined) {
    const { completions } = await sampler.generate({
      weights,
      prompt,
      n: 1,
      maxTokens: 8,
      temperature: 0,
      ignoreEos: true,
    });
    return completions.flatMap(({ tokens }) => tokens.map(({ logprob }) => logprob));
  }
  const { promptLogprobs = [] } = scored;
  return promptLogprobs.slice(1).map((entry) => entry?.[0].logprob ?? NaN);
}

/** The server cannot be reached or takes no requests: another one may do the work. */
function meansAway(error: unknown): boolean {
  return error instanceof HeddleError && error.code === "busy";
}

function named(error: unknown, { host }: Replica): unknown {
  return error instanceof HeddleError ? error.with({ message: `${host}: ${error.message}` }) : error;
}
