import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loraTargets } from "@heddle/training";
import type { OptimizerSettings, TrainerProvider } from "@heddle/training";
import type { RemoteModel, TrainedModel } from "../src/remote-model.js";
import type { TinkerSettings } from "../src/tinker/provider.js";
import { openTinkerTrainers } from "../src/tinker/provider.js";
import type { TinkerServerOptions } from "./tinker-server.js";
import { serverModel, serverVocabulary, TinkerServer } from "./tinker-server.js";

export interface TinkerTrainers {
  server: TinkerServer;
  provider: TrainerProvider;
  model: RemoteModel;
  /** A directory of its own for checkpoints. */
  directory: string;
  close(): Promise<void>;
}

export const baseModel = "tiny";

export const adam: OptimizerSettings = {
  learningRate: 0.05,
  beta1: 0.9,
  beta2: 0.99,
  epsilon: 1e-8,
  weightDecay: 0.01,
  maxGradientNorm: 0,
};

/** Opens a training server of its own, and a client with short pauses. */
export async function openTrainers(
  options: TinkerServerOptions & { model?: Partial<TrainedModel>; client?: Partial<TinkerSettings> } = {},
): Promise<TinkerTrainers> {
  const server = await new TinkerServer(options).listen();
  const directory = await mkdtemp(join(tmpdir(), "heddle-remote-"));
  const config = { vocab_size: serverVocabulary, max_position_embeddings: 64 };
  await writeFile(join(directory, "config.json"), JSON.stringify(config));
  const model: RemoteModel = {
    name: baseModel,
    directory,
    trainer: {
      model: serverModel,
      gradientScale: options.gradientScale ?? "sequence_mean",
      gradientClipping: options.clips ?? false,
      lora: { rank: 8, alpha: 32, targets: [...loraTargets] },
      maxRank: 8,
      ...options.model,
    },
  };
  const provider = openTinkerTrainers({ url: server.url, models: [model], pauseMs: 1, ...options.client });
  return {
    server,
    provider,
    model,
    directory,
    async close() {
      await provider.close();
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
