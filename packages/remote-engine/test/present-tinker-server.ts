import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonObject } from "@heddle/exact-json";
import { adapterTensors } from "./adapter-files.js";
import { bodyError, decodeMessage, encodeOutput, hasRoute } from "./tinker-contract.js";
import type { TinkerServer } from "./tinker-server.js";
import { serverModel } from "./tinker-server.js";
import { closeNow, listenLocally } from "./local-server.js";

type Body = Record<string, unknown>;

interface Answer {
  status: number;
  body?: unknown;
  /** A message instead of JSON. */
  bytes?: Buffer;
}

/**
 * The wire of the hosted service as its SDK speaks it today, in front of a server of the earlier one that does the work:
 * passes are messages, states are loaded by session, adapters are files with an address each. What the SDK would not
 * send, or would not read, is a violation.
 */
export class PresentTinkerServer {
  readonly violations: string[] = [];
  /** Method and path of every request, without heartbeats and polls. */
  readonly calls: string[] = [];
  /** How many addresses of files are refused, as if their time were over. */
  expired = 0;
  /** Names of the exported files, whatever the server has. */
  fileNames = ["README.md", "adapter_config.json", "adapter_model.safetensors"];
  url = "";
  readonly #inner: TinkerServer;
  /** Requests whose result is that of a pass. */
  readonly #passes = new Set<string>();
  /** The result of a request that has created a model. */
  readonly #loads = new Map<string, string>();
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  constructor(inner: TinkerServer) {
    this.#inner = inner;
  }

  async listen(): Promise<this> {
    this.url = await listenLocally(this.#server);
    return this;
  }

  async close(): Promise<void> {
    await closeNow(this.#server);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const path = (request.url ?? "").replace(/^\/api\/v1\//u, "");
    const { status, body, bytes } = await this.#answer(request, path, Buffer.concat(chunks)).catch((error: unknown) => {
      this.violations.push(String(error));
      return { status: 500, body: { detail: String(error) }, bytes: undefined };
    });
    response.writeHead(status, { "content-type": bytes ? "application/x-protobuf" : "application/json" });
    response.end(bytes ?? JSON.stringify(body));
  }

  async #answer({ method = "", headers }: IncomingMessage, path: string, content: Buffer): Promise<Answer> {
    if (!/heartbeat|retrieve/u.test(path)) this.calls.push(`${method} ${path.replaceAll(/session_\w+/gu, "SESSION")}`);
    if (path.startsWith("/signed/")) return this.#file(path);
    if (!hasRoute(method, path)) return { status: 404, body: { detail: "Not Found" } };
    if (path === "forward_backward") return await this.#pass(headers, content);
    const body = content.length === 0 ? {} : (JSON.parse(content.toString("utf8")) as Body);
    if (method === "POST" && !path.startsWith("sessions/")) this.#check("requests", path, body);
    if (path === "load_weights" && body["session_id"] !== undefined) return await this.#load(body);
    if (path === "save_weights_external") return await this.#forward("save_weights_for_sampler", body);
    if (path.endsWith("/external_weights_urls")) return this.#urls(path);
    if (path.startsWith("sessions/")) {
      this.#inner.models.clear();
      return { status: 200, body: null };
    }
    const inner = path.replace("/external_weights/", "/sampler_weights/");
    const answer = await this.#forward(inner, body, method);
    if (path === "retrieve_future" && answer.status === 200) return this.#result(body, headers, answer.body);
    return answer;
  }

  async #pass(headers: IncomingMessage["headers"], content: Buffer): Promise<Answer> {
    if (headers["content-type"] !== "application/x-protobuf") {
      return { status: 415, body: { detail: "Unsupported Content-Type; expected application/x-protobuf" } };
    }
    const message = decodeMessage("ForwardBackwardRequest", content);
    const path = message["forward_only"] === true ? "forward" : "forward_backward";
    const config = (message["loss_fn_config_v2"] ?? []) as { key: string; value: { number: number } }[];
    const input = {
      data: (message["data"] as Body[]).map(jsonDatum),
      loss_fn: message["loss_fn"],
      loss_fn_config: Object.fromEntries(config.map(({ key, value }) => [key, value.number])),
    };
    const body = { [`${path}_input`]: input, model_id: message["model_id"], seq_id: message["seq_id"] };
    const answer = await this.#forward(path, body);
    if (isJsonObject(answer.body)) this.#passes.add(String(answer.body["request_id"]));
    return answer;
  }

  #result(body: Body, headers: IncomingMessage["headers"], result: unknown): Answer {
    const id = String(body["request_id"]);
    if (!isJsonObject(result)) return { status: 200, body: result };
    if (this.#passes.has(id)) {
      if (headers.accept !== "application/x-protobuf") this.violations.push(`a pass is read as ${headers.accept}`);
      const outputs = result["loss_fn_outputs"] as Record<string, { data: number[] }>[];
      return { status: 200, bytes: encodeOutput(outputs, { "loss:sum": 1.5 }) };
    }
    if (typeof result["path"] === "string" && result["type"] === "save_weights_for_sampler") {
      const saved = result["path"].replace(/\/(?:sampler_weights\/)?([^/]+)$/u, "/external_weights/$1");
      return this.#checked("save_weights_external", { path: saved, type: "save_weights_external" });
    }
    const modelId = this.#loads.get(id);
    if (modelId !== undefined) return this.#checked("load_weights", { ...result, model_id: modelId });
    return { status: 200, body: result };
  }

  async #load({ path, optimizer, session_id: session }: Body): Promise<Answer> {
    const lora = { rank: 8 };
    const created = await this.#forward("create_model", {
      session_id: session,
      base_model: serverModel,
      lora_config: lora,
    });
    const modelId = String((created.body as Body)["model_id"]);
    const loaded = await this.#forward("load_weights", { model_id: modelId, path, optimizer, seq_id: undefined });
    this.#loads.set(String((loaded.body as Body)["request_id"]), modelId);
    return this.#checked("accepted", { request_id: (loaded.body as Body)["request_id"], model_id: modelId });
  }

  #urls(path: string): Answer {
    const [, model, name] = /^training_runs\/([^/]+)\/checkpoints\/external_weights\/([^/]+)\//u.exec(path) ?? [];
    const urls = this.fileNames.map((file) => [file, `${this.url}/signed/${model}/${name}/${file}`]);
    const expires = new Date(Date.now() + 3_600_000).toISOString();
    return this.#checked("external_weights_urls", { urls: Object.fromEntries(urls), expires });
  }

  #file(path: string): Answer {
    if (this.expired-- > 0) return { status: 403, body: "Request has expired" };
    const [model = "", name = "", file = ""] = path.split("/").slice(2);
    const saved = this.#inner.saved.get(`tinker://${model}/${name}`);
    if (saved === undefined) return { status: 404, body: "no such key" };
    const config = {
      peft_type: "LORA",
      base_model_name_or_path: serverModel,
      lora_alpha: 32,
      r: 8,
      target_modules: null,
    };
    return {
      status: 200,
      bytes: file === "adapter_config.json" ? Buffer.from(JSON.stringify(config)) : adapterTensors(saved.logits),
    };
  }

  #checked(name: string, body: unknown): Answer {
    this.#check("responses", name, body);
    return { status: 200, body };
  }

  #check(kind: "requests" | "responses", name: string, body: unknown): void {
    const error = bodyError(kind, name, body);
    if (error !== undefined) this.violations.push(error);
  }

  async #forward(path: string, body: Body, method = "POST"): Promise<Answer> {
    const response = await fetch(`${this.#inner.url}/api/v1/${path}`, {
      method,
      ...(method === "POST" && { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? null : JSON.parse(text) };
  }
}

function jsonDatum({ model_input: chunks, loss_fn_inputs: inputs }: Body) {
  const [{ encoded_text: text }] = chunks as [{ encoded_text: { tokens: Buffer } }];
  const tensors = inputs as { key: string; value: { dense: Buffer; dtype: number; shape: number[] } }[];
  return {
    model_input: { chunks: [{ type: "encoded_text", tokens: Array.from(typed(Int32Array, text.tokens)) }] },
    loss_fn_inputs: Object.fromEntries(
      tensors.map(({ key, value: { dense, dtype, shape } }) => {
        const data =
          dtype === 1 ? Array.from(typed(Float32Array, dense)) : Array.from(typed(BigInt64Array, dense), Number);
        if (shape.length !== 1 || shape[0] !== data.length) throw new Error(`${key} has the shape ${shape.join()}`);
        return [key, { data }];
      }),
    ),
  };
}

function typed<View>(View: new (buffer: ArrayBuffer) => View, bytes: Buffer): View {
  return new View(Uint8Array.from(bytes).buffer);
}
