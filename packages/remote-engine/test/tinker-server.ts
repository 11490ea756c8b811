import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "tar";
import { adapterTensors } from "./adapter-files.js";
import type { SavedModel, WireSequence } from "./bigram-model.js";
import { BigramModel } from "./bigram-model.js";
import { closeNow, listenLocally } from "./local-server.js";

export interface TinkerServerOptions {
  gradientScale?: "sum" | "sequence_mean";
  /** Whether the server applies `grad_clip_norm`. */
  clips?: boolean;
  /** The alpha that the server uses, whatever was asked for. */
  alpha?: number;
  /** Maximum number of models. */
  slots?: number;
  /** A server that counts sequence numbers fails a request that does not have the next one. */
  countsRequests?: boolean;
  /** Whether the paths of sampler weights have the part `sampler_weights`. */
  namesSamplerWeights?: boolean;
  vocabulary?: number;
  /** Value that replaces the log-probabilities of results, as a server with NaN weights returns it. */
  logprob?: null;
}

/** What to do instead of responding to a request. */
export type Fault =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  /** Cuts the connection, before or after the work was done. */
  | { cut: "before" | "after" };

export interface SeenRequest {
  path: string;
  body: Record<string, unknown>;
  headers: IncomingMessage["headers"];
}

export const serverModel = "/models/tiny";
export const serverVocabulary = 8;

/** What is done with a model. */
const operations: ReadonlySet<string> = new Set([
  "forward",
  "forward_backward",
  "optim_step",
  "load_weights",
  "save_weights",
  "save_weights_for_sampler",
  "unload_model",
]);

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** A server with the Tinker wire as released servers speak it, over a model that trains in microseconds. */
export class TinkerServer {
  readonly requests: SeenRequest[] = [];
  readonly models = new Map<string, BigramModel>();
  /** Saved states and sampler weights by `tinker://` path. */
  readonly saved = new Map<string, SavedModel>();
  /** Called with every request; a returned fault replaces the response. */
  fault: (request: SeenRequest) => Fault | undefined = () => undefined;
  /** Sessions that the server knows. */
  readonly sessions = new Set<string>();
  url = "";
  readonly #options: Required<Omit<TinkerServerOptions, "logprob">> & { logprob?: null };
  readonly #results = new Map<string, () => unknown>();
  readonly #numbers = new Map<string, number>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(options: TinkerServerOptions = {}) {
    this.#options = {
      gradientScale: "sequence_mean",
      clips: false,
      alpha: 32,
      slots: 3,
      countsRequests: false,
      namesSamplerWeights: false,
      vocabulary: serverVocabulary,
      ...options,
    };
  }

  async listen(): Promise<this> {
    this.url = await listenLocally(this.#server);
    return this;
  }

  async close(): Promise<void> {
    await closeNow(this.#server);
  }

  /** Paths of the requests so far, without heartbeats. */
  paths(): string[] {
    return this.requests.map(({ path }) => path).filter((path) => path !== "session_heartbeat");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    const path = (request.url ?? "").replace(/^\/api\/v1\//u, "");
    const seen: SeenRequest = {
      path,
      body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>),
      headers: request.headers,
    };
    this.requests.push(seen);
    const send = (status: number, body: unknown, headers: Record<string, string> = {}) =>
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    const fault = this.fault(seen);
    if (fault && "status" in fault) return void send(fault.status, fault.body ?? { detail: "a fault" }, fault.headers);
    if (fault?.cut === "before") return void request.socket.destroy();
    try {
      const body = await this.#respond(request.method ?? "", seen, response);
      if (fault?.cut === "after") request.socket.destroy();
      else if (!response.headersSent) send(200, body);
    } catch (error) {
      if (error instanceof Refusal) send(error.status, { detail: error.message });
      else response.writeHead(500, { "content-type": "text/plain" }).end("Internal Server Error");
    }
  }

  async #respond(method: string, { path, body }: SeenRequest, response: ServerResponse): Promise<unknown> {
    if (path === "healthz") return { status: "ok" };
    if (path === "get_server_capabilities") return { supported_models: [{ model_name: serverModel }] };
    if (path.startsWith("training_runs/")) return this.#checkpoints(method, path, response);
    if (path === "create_session") {
      const id = `session_${randomBytes(4).toString("hex")}`;
      this.sessions.add(id);
      return { type: "create_session", info_message: null, warning_message: null, error_message: null, session_id: id };
    }
    if (path === "session_heartbeat") {
      if (!this.sessions.has(String(body["session_id"]))) throw new Refusal(404, "Session not found");
      return { type: "session_heartbeat" };
    }
    if (path === "retrieve_future") {
      const result = this.#results.get(String(body["request_id"]));
      if (!result) throw new Refusal(404, "Future not found");
      return result();
    }
    if (path === "create_model") return this.#createModel(body);
    return this.#operate(path, body);
  }

  #createModel(body: Record<string, unknown>): unknown {
    const { base_model: base, lora_config: lora } = body as { base_model: string; lora_config: { rank: number } };
    const id = `model_${randomBytes(4).toString("hex")}`;
    const { slots, alpha } = this.#options;
    const requestId = this.#accept(() => {
      if (this.models.size >= slots) throw new Refusal(400, `Maximum number of LoRA adapters (${slots + 1}) reached`);
      this.models.set(id, new BigramModel(this.#options.vocabulary, this.#options.gradientScale));
      const stored = { rank: lora.rank, alpha, train_attn: true, train_mlp: true, train_unembed: false };
      return { model_id: id, base_model: base, lora_config: stored };
    });
    return { model_id: id, base_model: base, lora_config: lora, status: "created", request_id: requestId };
  }

  #operate(path: string, body: Record<string, unknown>): unknown {
    if (!operations.has(path)) throw new Refusal(404, "Not Found");
    const id = String(body["model_id"]);
    const model = this.models.get(id);
    if (!model) throw new Refusal(404, "Model not found");
    const { seq_id: number } = body as { seq_id?: number };
    if (this.#options.countsRequests && number !== undefined) {
      const expected = (this.#numbers.get(id) ?? 0) + 1;
      if (number !== expected) throw new Refusal(409, `Sequence conflict: expected ${expected}, got ${number}.`);
      this.#numbers.set(id, number);
    }
    const requestId = this.#accept(() => this.#work(path, model, id, body));
    return { future_id: requestId, status: "pending", request_id: requestId };
  }

  #work(path: string, model: BigramModel, id: string, body: Record<string, unknown>): unknown {
    if (path === "forward" || path === "forward_backward") return this.#pass(path, model, body);
    if (path === "optim_step") {
      const norm = model.step(body["adam_params"] as Record<string, number>, this.#options.clips);
      return { metrics: { "skyrl.ai/grad_norm": norm } };
    }
    if (path === "unload_model") {
      this.models.delete(id);
      return { model_id: id, status: "unloaded", type: "unload_model" };
    }
    if (path === "load_weights") {
      const saved = this.saved.get(String(body["path"]));
      if (!saved) throw new Refusal(404, `Checkpoint not found: ${String(body["path"])}`);
      model.load(saved, body["optimizer"] === true);
      return { type: "load_weights" };
    }
    const isState = path === "save_weights";
    const folder = isState ? "weights/" : this.#options.namesSamplerWeights ? "sampler_weights/" : "";
    const saved = `tinker://${id}/${folder}${String(body["path"])}`;
    if (this.saved.has(saved)) throw new Refusal(409, `Checkpoint '${String(body["path"])}' already exists`);
    this.saved.set(saved, model.save());
    return { path: saved, type: path };
  }

  #pass(path: string, model: BigramModel, body: Record<string, unknown>): unknown {
    type Input = { data: WireDatum[]; loss_fn: string; loss_fn_config?: Record<string, number> };
    const input = body[path === "forward" ? "forward_input" : "forward_backward_input"] as Input;
    const sequences = input.data.map(wireSequence);
    const results = model.run(
      { loss: input.loss_fn, config: input.loss_fn_config ?? {}, sequences },
      path === "forward_backward",
    );
    const { logprob } = this.#options;
    const tensor = (data: (number | null)[]) => ({ data, dtype: "float32", shape: [data.length] });
    return {
      loss_fn_output_type: "scalar",
      loss_fn_outputs: results.map(({ losses, logprobs }) => ({
        elementwise_loss: tensor(losses),
        logprobs: tensor(logprob === undefined ? logprobs : logprobs.map(() => logprob)),
      })),
      metrics: {},
    };
  }

  /** Does the work of a request at once; the result, or the error that a failed request has, is retrieved later. */
  #accept(work: () => unknown): string {
    const id = String(this.#results.size + 1);
    let outcome: () => unknown;
    try {
      const result = work();
      outcome = () => result;
    } catch (error) {
      outcome = () => {
        throw error instanceof Refusal ? new Refusal(400, error.message) : error;
      };
    }
    this.#results.set(id, outcome);
    return id;
  }

  async #checkpoints(method: string, path: string, response: ServerResponse): Promise<unknown> {
    const [, model = "", rest = ""] = /^training_runs\/([\w-]+)\/checkpoints\/(.+)$/u.exec(path) ?? [];
    if (method === "DELETE") {
      const folder =
        rest.startsWith("sampler_weights/") && !this.#options.namesSamplerWeights
          ? rest.slice("sampler_weights/".length)
          : rest;
      if (!this.saved.delete(`tinker://${model}/${folder}`)) throw new Refusal(404, "Checkpoint not found");
      return undefined;
    }
    const [, name = "", action] = /^([\w-]+)\/(archive|download)$/u.exec(rest) ?? [];
    const folder = this.#options.namesSamplerWeights ? "sampler_weights/" : "";
    const saved = this.saved.get(`tinker://${model}/${folder}${name}`);
    if (!saved || action === undefined) throw new Refusal(404, `Checkpoint not found: ${model}/${name}`);
    if (action === "archive") {
      const location = `${this.url}/api/v1/training_runs/${model}/checkpoints/${name}/download`;
      response.writeHead(302, { location }).end();
      return undefined;
    }
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(await this.#archive(saved));
    return undefined;
  }

  async #archive({ logits }: SavedModel): Promise<Buffer> {
    const directory = await mkdtemp(join(tmpdir(), "heddle-archive-"));
    try {
      const config = {
        base_model_name_or_path: serverModel,
        lora_alpha: this.#options.alpha,
        r: 8,
        target_modules: null,
      };
      await writeFile(join(directory, "adapter_config.json"), JSON.stringify({ peft_type: "LORA", ...config }));
      await writeFile(join(directory, "adapter_model.safetensors"), adapterTensors(logits));
      const file = join(directory, "archive.tar.gz");
      await create({ gzip: true, file, cwd: directory }, ["adapter_config.json", "adapter_model.safetensors"]);
      return await readFile(file);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }
}

interface WireDatum {
  model_input: { chunks: [{ tokens: number[] }] };
  loss_fn_inputs: Record<string, { data: number[] }>;
}

function wireSequence({ model_input: { chunks }, loss_fn_inputs: inputs }: WireDatum): WireSequence {
  const data = (name: string) => inputs[name]?.data;
  return {
    inputs: chunks[0].tokens,
    targets: data("target_tokens") ?? [],
    weights: data("weights"),
    logprobs: data("logprobs"),
    advantages: data("advantages"),
  };
}
