import { HeddleError, withLoc } from "@heddle/errors";
import type { Trainer, TrainerProvider, TrainerSpec, WeightsRef } from "@heddle/training";
import { readCheckpointDirectory } from "../checkpoint-directory.js";

/** One of several servers with the same models. */
interface TrainingServer {
  /** Address without credentials, for messages. */
  host: string;
  /** Identity, as in the checkpoints whose state it has. */
  id: string;
  provider: TrainerProvider;
}

/**
 * The trainers of several servers. A new one is opened where the fewest are open; a server that is away or full is passed
 * over. States cannot be moved: training goes on at the server that has the state.
 */
export function severalTrainers(servers: readonly TrainingServer[]): TrainerProvider {
  const [first] = servers;
  if (first === undefined) throw new HeddleError("invalid", "there is no training server", { loc: ["url"] });
  const open = new Map<TrainingServer, number>(servers.map((server) => [server, 0]));

  const count = (server: TrainingServer, change: number) => open.set(server, (open.get(server) ?? 0) + change);

  /** The server with the state of a checkpoint. Of other weights, the first, whose reasons are those of all. */
  async function ownerOf({ checkpoint }: WeightsRef): Promise<TrainingServer> {
    if (checkpoint === undefined) return first!;
    const { remote } = await readCheckpointDirectory(checkpoint);
    return servers.find(({ id }) => id === remote?.server) ?? first!;
  }

  async function openAt(server: TrainingServer, spec: TrainerSpec, signal?: AbortSignal): Promise<Trainer> {
    count(server, 1);
    try {
      const trainer = await server.provider.openTrainer(spec, signal);
      const close = trainer.close.bind(trainer);
      let closing: Promise<void> | undefined;
      trainer.close = () => (closing ??= close().finally(() => count(server, -1)));
      return trainer;
    } catch (error) {
      count(server, -1);
      throw error;
    }
  }

  async function openAnywhere(spec: TrainerSpec, signal?: AbortSignal): Promise<Trainer> {
    const reasons: string[] = [];
    for (const server of servers.toSorted((one, other) => (open.get(one) ?? 0) - (open.get(other) ?? 0))) {
      // Asked first: a request for a model is repeated for minutes while its server is away.
      const { ok, detail = "" } = await server.provider.health();
      if (ok) {
        try {
          return await openAt(server, spec, signal);
        } catch (error) {
          if (!(error instanceof HeddleError) || error.code !== "busy") throw error;
          reasons.push(`${server.host}: ${error.message}`);
        }
      } else reasons.push(`${server.host}: ${detail}`);
    }
    throw new HeddleError("busy", `no training server takes the model: ${reasons.join("; ")}`);
  }

  return {
    ...(first.provider.models && { models: first.provider.models }),
    capabilities: () => first.provider.capabilities(),
    async health() {
      const all = await Promise.all(
        servers.map(async ({ host, provider }) => ({ host, health: await provider.health() })),
      );
      const failing = all.filter(({ health }) => !health.ok);
      if (failing.length === 0) return { ok: true };
      const detail = failing.map(({ host, health }) => `${host}: ${health.detail ?? ""}`).join("; ");
      // The others take new models.
      return { ok: failing.length < servers.length, detail };
    },
    weightsDigest: (weights) => first.provider.weightsDigest(weights),
    adapterOf: async (weights) => await (await ownerOf(weights)).provider.adapterOf(weights),
    async openTrainer(spec, signal) {
      if (spec.weights.checkpoint === undefined) return await openAnywhere(spec, signal);
      return await openAt(await withLoc(["weights"], () => ownerOf(spec.weights)), spec, signal);
    },
    async deleteWeights(weights) {
      if (weights.checkpoint !== undefined) await (await ownerOf(weights)).provider.deleteWeights(weights);
    },
    async close() {
      await Promise.all(servers.map(({ provider }) => provider.close()));
    },
  };
}
