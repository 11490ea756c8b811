import { isJsonObject } from "@heddle/exact-json";
import { HeddleError, withLoc } from "@heddle/errors";
import { digestOf } from "@heddle/training";
import type {
  BaseModelInfo,
  EngineHealth,
  LoraConfig,
  Trainer,
  TrainerProvider,
  TrainerSpec,
  WeightsRef,
} from "@heddle/training";
import { openHttpClient } from "../http-client.js";
import type { RemoteModel, TrainedModel } from "../remote-model.js";
import { describeRemoteModels, remoteModelDigest } from "../remote-model.js";
import { acceptedBody, tinkerApi } from "./api.js";
import type { Dialect } from "./dialect.js";
import type { CheckpointDescription, RemoteState } from "../checkpoint-directory.js";
import { adapterDigest, readCheckpointDirectory, requireDigest } from "../checkpoint-directory.js";
import { openSession } from "./session.js";
import { severalTrainers } from "./several-trainers.js";
import { TinkerTrainer } from "./trainer.js";
import { unloadModel } from "./unload-model.js";

export interface TinkerSettings {
  /** Address of the server, without `/api/v1`, or addresses of several that train the same models. */
  url: string | readonly string[];
  /** Sent as `X-API-Key`. Absent: a dummy, which servers without accounts accept. */
  apiKey?: string;
  /** Models with `trainer`. */
  models: readonly RemoteModel[];
  /** Limit for one operation, such as one forward-backward pass. Default 30 minutes. */
  operationTimeoutMs?: number;
  /** First pause before a request is repeated. Default 1 s. */
  pauseMs?: number;
  /** Pause between heartbeats. Default 10 s. */
  heartbeatMs?: number;
}

interface TrainableModel {
  model: RemoteModel;
  info: BaseModelInfo;
  trained: TrainedModel;
}

/**
 * Opens the trainers of a server that speaks the Tinker wire, such as SkyRL, or of several. Nothing is sent before the first
 * call.
 */
export function openTinkerTrainers(settings: TinkerSettings): TrainerProvider {
  const urls = typeof settings.url === "string" ? [settings.url] : [...new Set(settings.url)];
  const [only = "", second] = urls;
  if (second === undefined) return openOne({ ...settings, url: only });
  return severalTrainers(
    urls.map((url) => ({ host: new URL(url).host, id: serverId(url), provider: openOne({ ...settings, url }) })),
  );
}

const serverId = (url: string): string => digestOf(["server", new URL(url).origin]);

function openOne(settings: TinkerSettings & { url: string }): TrainerProvider {
  const { apiKey = "tml-dummy", operationTimeoutMs = 1_800_000, pauseMs = 1000 } = settings;
  const server = serverId(settings.url);
  const url = new URL("api/v1/", settings.url.endsWith("/") ? settings.url : `${settings.url}/`).href;
  const http = openHttpClient({ url, headers: { "x-api-key": apiKey } });
  const api = tinkerApi({ http, operationTimeoutMs, pauseMs });
  const dialect: Dialect = { passesAreMessages: false };
  const open = new Set<Trainer>();

  const configured = settings.models.flatMap((model) => (model.trainer ? [{ ...model, trainer: model.trainer }] : []));

  async function modelOf(baseModel: string): Promise<TrainableModel> {
    const model = configured.find(({ name }) => name === baseModel);
    if (model) {
      const { described, unavailableModels } = await describeRemoteModels([model]);
      if (described[0]) return { ...described[0], trained: model.trainer };
      throw new HeddleError("unsupported", `${baseModel}: ${unavailableModels[0]?.reason}`, { loc: ["baseModel"] });
    }
    throw new HeddleError("not_found", `the training server has no model for ${baseModel}`, { loc: ["baseModel"] });
  }

  async function weightsDigest(weights: WeightsRef): Promise<string> {
    const { model } = await modelOf(weights.baseModel);
    const digest =
      weights.checkpoint === undefined ? await remoteModelDigest(model) : await adapterDigest(weights.checkpoint);
    requireDigest(weights, digest);
    return digest;
  }

  async function adapterOf(weights: WeightsRef): Promise<LoraConfig | undefined> {
    const { trained } = await modelOf(weights.baseModel);
    const from = await savedState(weights.checkpoint, weights.baseModel, server);
    return from && { ...trained.lora, rank: from.remote.rank };
  }

  /** The server trains its own model, without an error, when it is asked for another one. */
  async function requireServerModel({ model }: TrainedModel, signal?: AbortSignal): Promise<number | undefined> {
    const capabilities = await api.get("get_server_capabilities", signal);
    const listed = isJsonObject(capabilities) ? capabilities["supported_models"] : undefined;
    const models = Array.isArray(listed) ? listed.filter(isJsonObject) : [];
    const found = models.find(({ model_name: name }) => name === model);
    if (found?.["trainable"] === false) {
      throw new HeddleError("unsupported", `the training server does not train the model ${model}`);
    }
    if (found) return typeof found["max_context_length"] === "number" ? found["max_context_length"] : undefined;
    const names = models.map(({ model_name: name }) => String(name)).join(", ") || "none";
    throw new HeddleError("unsupported", `the training server does not have the model ${model}; it has: ${names}`);
  }

  async function openTrainer(spec: TrainerSpec, signal?: AbortSignal): Promise<Trainer> {
    const { baseModel } = spec.weights;
    const model = await withLoc(["weights"], () => modelOf(baseModel));
    const from = await withLoc(["weights"], () => savedState(spec.weights.checkpoint, baseModel, server));
    if (spec.weights.digest !== undefined) await withLoc(["weights"], () => weightsDigest(spec.weights));
    const baseDigest = await remoteModelDigest(model.model);
    const rank = from?.remote.rank ?? (spec.adapter ?? model.trained.lora).rank;
    if (!from && spec.adapter) checkAdapter(spec.adapter, model.trained);
    const context = await requireServerModel(model.trained, signal);
    const session = await openSession(api, { signal, intervalMs: settings.heartbeatMs });
    let modelId: string | undefined;
    try {
      const load = { sessionId: session.id, path: from?.remote.path ?? "", optimizer: !spec.resetOptimizer };
      modelId = from && (await createByLoading(load, signal));
      const isLoaded = modelId !== undefined;
      modelId ??= await createModel({ sessionId: session.id, model: model.trained, rank, seed: spec.seed }, signal);
      if (from && !isLoaded) await loadInto(modelId, load, signal);
      const { info, trained } = model;
      const trainer = new TinkerTrainer({
        api,
        http,
        server,
        session,
        dialect,
        modelId,
        baseModel,
        baseDigest,
        adapter: { ...trained.lora, rank },
        seed: spec.seed,
        steps: from?.steps ?? 0,
        sequenceNumber: from && !isLoaded ? 1 : 0,
        gradientScale: trained.gradientScale,
        vocabularySize: info.vocabularySize,
        maxSequenceTokens: Math.min(info.contextLength, context ?? Infinity),
        onClose: () => void open.delete(trainer),
      });
      open.add(trainer);
      return trainer;
    } catch (error) {
      if (modelId !== undefined) await unloadModel(api, { modelId, sessionId: session.id }).catch(() => undefined);
      // A model of unknown id is unloaded by the server when the heartbeats end.
      session.close();
      throw error;
    }
  }

  async function createModel(
    { sessionId, model, rank, seed }: { sessionId: string; model: TrainedModel; rank: number; seed: number },
    signal?: AbortSignal,
  ): Promise<string> {
    const body = {
      session_id: sessionId,
      model_seq_id: 0,
      base_model: model.model,
      // Servers read the seed as a signed 32-bit integer.
      lora_config: { rank, seed: seed % 2 ** 31, train_unembed: false, train_mlp: true, train_attn: true },
      type: "create_model",
    };
    const accepted = await api.post("create_model", body, { signal, repeatable: false });
    const result = await api.result(accepted["request_id"], { signal }).catch((error: unknown) => {
      throw isFull(error) ? new HeddleError("busy", (error as HeddleError).message, { cause: error }) : error;
    });
    const modelId = result["model_id"] ?? accepted["model_id"];
    if (typeof modelId !== "string") throw new HeddleError("failed", "the training server returned no model_id");
    try {
      checkCreated(result["lora_config"], { rank, alpha: model.lora.alpha });
    } catch (error) {
      await unloadModel(api, { modelId, sessionId }).catch(() => undefined);
      throw error;
    }
    return modelId;
  }

  /** Creates a model from a state, or returns undefined where the server does not do that in one request. */
  async function createByLoading(
    { sessionId, path, optimizer }: StateToLoad,
    signal?: AbortSignal,
  ): Promise<string | undefined> {
    if (dialect.createsByLoading === false) return undefined;
    const body = { session_id: sessionId, model_seq_id: 0, path, optimizer, type: "load_weights" };
    const response = await api.request("load_weights", body, { signal, repeatable: false });
    // Earlier servers miss a model_id. What else is refused is refused again, with a reason that fits.
    if (response.status >= 400 && response.status < 500) return undefined;
    const result = await withStateErrors(async () => {
      const accepted = acceptedBody("load_weights", response);
      return { ...accepted, ...(await api.result(accepted["request_id"], { signal })) };
    });
    dialect.createsByLoading = true;
    const { model_id: modelId } = result;
    if (typeof modelId !== "string") throw new HeddleError("failed", "the training server returned no model_id");
    return modelId;
  }

  async function loadInto(modelId: string, { path, optimizer }: StateToLoad, signal?: AbortSignal): Promise<void> {
    await withStateErrors(async () => {
      const body = { model_id: modelId, seq_id: 1, path, optimizer, type: "load_weights" };
      const accepted = await api.post("load_weights", body, { signal, repeatable: false });
      await api.result(accepted["request_id"], { signal });
    });
    dialect.createsByLoading ??= false;
  }

  return {
    models: new Set(settings.models.flatMap(({ name, trainer }) => (trainer ? [name] : []))),
    async capabilities() {
      const { described, unavailableModels } = await describeRemoteModels(configured);
      const models = described.map(({ model, info }) => withCapabilities(info, model.trainer));
      return { models, unavailableModels };
    },
    async health(): Promise<EngineHealth> {
      try {
        const { stream, status } = await http({ method: "GET", path: "healthz", timeoutMs: 5000 });
        stream.destroy();
        if (status >= 300) throw new HeddleError("failed", `it responded with ${status}`);
        return { ok: true };
      } catch (error) {
        return { ok: false, detail: `the training server: ${error instanceof Error ? error.message : String(error)}` };
      }
    },
    weightsDigest,
    adapterOf,
    openTrainer,
    async deleteWeights({ checkpoint }) {
      if (checkpoint === undefined) return;
      const { remote } = await readCheckpointDirectory(checkpoint);
      const [, model, name] = /^tinker:\/\/([\w:.-]+)\/weights\/([\w.-]+)$/u.exec(remote?.path ?? "") ?? [];
      if (remote?.server !== server || model === undefined || name === undefined) return;
      await api.delete(`training_runs/${model}/checkpoints/weights/${name}`);
    },
    async close() {
      await Promise.allSettled([...open].map((trainer) => trainer.close()));
    },
  };
}

interface StateToLoad {
  sessionId: string;
  path: string;
  optimizer: boolean;
}

async function withStateErrors<Result>(load: () => Promise<Result>): Promise<Result> {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof HeddleError) || !["not_found", "invalid", "failed"].includes(error.code)) throw error;
    const message = `the training server cannot load the state of the checkpoint: ${error.message}`;
    throw new HeddleError("not_found", message, { loc: ["weights", "checkpoint"], cause: error });
  }
}

function withCapabilities(info: BaseModelInfo, trained: TrainedModel): BaseModelInfo {
  const { lora, maxRank, gradientClipping, maxOpenTrainers } = trained;
  return {
    ...info,
    training: {
      objectives: ["cross_entropy", "policy"],
      fullFineTuning: false,
      lora: { default: lora, maxRank, alpha: lora.alpha, selectableTargets: false },
      gradientClipping,
      entropies: false,
      maxSequenceTokens: info.contextLength,
      ...(maxOpenTrainers !== undefined && { maxOpenTrainers }),
    },
  };
}

/** Reads the state to resume from. A server cannot import weights, so a checkpoint of another trainer cannot be used. */
async function savedState(
  checkpoint: string | undefined,
  baseModel: string,
  server: string,
): Promise<(CheckpointDescription & { remote: RemoteState }) | undefined> {
  if (checkpoint === undefined) return undefined;
  const { remote, ...description } = await readCheckpointDirectory(checkpoint);
  if (description.baseModel !== baseModel) {
    const message = `the checkpoint was trained from ${description.baseModel}, not from ${baseModel}`;
    throw new HeddleError("invalid", message, { loc: ["baseModel"] });
  }
  if (remote?.server === server) return { ...description, remote };
  const message = remote
    ? "the checkpoint was trained on another training server, and this one cannot import weights"
    : "the checkpoint was not trained on the training server, which cannot import weights";
  throw new HeddleError("unsupported", message, { loc: ["checkpoint"] });
}

/** Throws `unsupported` with all fields of an adapter that the server would ignore or reject. */
function checkAdapter({ rank, alpha, targets }: LoraConfig, { lora, maxRank }: TrainedModel): void {
  const sameTargets = targets.length === lora.targets.length && targets.every((each) => lora.targets.includes(each));
  const reasons = {
    rank: rank < 1 || rank > maxRank ? `rank must be from 1 to ${maxRank}` : undefined,
    alpha: alpha !== lora.alpha ? `alpha must be ${lora.alpha}` : undefined,
    targets: sameTargets ? undefined : `targets must be ${lora.targets.join(", ")}`,
  };
  const found = Object.entries(reasons).filter(([, reason]) => reason !== undefined);
  if (found.length === 0) return;
  const loc = ["adapter", ...(found.length === 1 ? [found[0]![0]] : [])];
  const message = `the training server does not support the adapter: ${found.map(([, reason]) => reason).join("; ")}`;
  throw new HeddleError("unsupported", message, { loc });
}

/** Compares the adapter that a server reports with the configured one, which it may have ignored. */
function checkCreated(reported: unknown, expected: { rank: number; alpha: number }): void {
  if (!isJsonObject(reported)) return;
  for (const [name, value] of Object.entries(expected)) {
    const actual = reported[name];
    if (typeof actual !== "number" || actual === value) continue;
    const message = `the training server made an adapter with ${name} ${actual}; ${value} is configured for the model`;
    throw new HeddleError("unsupported", message);
  }
}

function isFull(error: unknown): boolean {
  return error instanceof HeddleError && /maximum number of lora adapters|no free|at capacity/iu.test(error.message);
}
