import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { closeNow, listenLocally } from "./local-server.js";

const baseName = "tiny";

interface Contract {
  routes: string[];
  /** Fields of each class of the package; what a request has besides is ignored without an error. */
  fields: Record<string, string[]>;
}

/** What SGLang reads and sends, as its package says; `pnpm sglang-contract -u` reads it again. */
export const contract = JSON.parse(readFileSync(new URL("sglang-contract.json", import.meta.url), "utf8")) as Contract;

/** A server with the wire of SGLang 0.5.23, which answers " yes" and the end of the text. */
export class SglangServer {
  readonly bodies: Record<string, unknown>[] = [];
  /** Fields of requests that the server does not have. */
  readonly unknownFields: string[] = [];
  readonly adapters = new Map<string, string>();
  logprob = -0.25;
  end = 1017;
  hasLora = true;
  url = "";
  readonly #server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString("utf8");
      this.#answer(request.url ?? "", text === "" ? {} : (JSON.parse(text) as Record<string, unknown>), response);
    })();
  });

  async listen(): Promise<this> {
    this.url = await listenLocally(this.#server);
    return this;
  }

  async close(): Promise<void> {
    await closeNow(this.#server);
  }

  #answer(path: string, body: Record<string, unknown>, response: ServerResponse): void {
    if (path === "/v1/models") {
      const card = { id: baseName, object: "model", owned_by: "sglang", root: baseName, max_model_len: 64 };
      return send(response, 200, { object: "list", data: [card] });
    }
    if (path === "/load_lora_adapter") return this.#load(body, response);
    if (path === "/unload_lora_adapter") {
      const isLoaded = this.adapters.delete(String(body["lora_name"]));
      return send(response, isLoaded ? 200 : 400, { success: isLoaded, error_message: "it does not exist" });
    }
    if (path !== "/v1/completions") return send(response, 404, { detail: "Not Found" });
    this.bodies.push(body);
    this.unknownFields.push(...unknownIn("CompletionRequest", body));
    const { lora_path: adapter } = body;
    if (typeof adapter === "string" && !this.adapters.has(adapter)) {
      const message = `The following requested LoRA adapters are not loaded: ${adapter}`;
      return send(response, 400, { object: "error", message, type: "BadRequestError", code: 400 });
    }
    this.#complete(body, response);
  }

  #load(body: Record<string, unknown>, response: ServerResponse): void {
    const { lora_name: name, lora_path: path } = body;
    this.unknownFields.push(...unknownIn("LoadLoRAAdapterReqInput", body));
    const refuse = (message: string) => send(response, 400, { success: false, error_message: message });
    if (!this.hasLora) return refuse("LoRA is not enabled. Please set `--enable-lora` to enable LoRA.");
    if (this.adapters.has(String(name))) return refuse(`LoRA with name ${String(name)} already exists.`);
    if (!existsSync(join(String(path), "adapter_config.json"))) return refuse(`${String(path)} is not a directory`);
    this.adapters.set(String(name), String(path));
    send(response, 200, { success: true, error_message: null });
  }

  #complete(body: Record<string, unknown>, response: ServerResponse): void {
    const head = { id: "cmpl-1", object: "text_completion", created: 1, model: body["model"] };
    const event = (fields: object) => response.write(`data: ${JSON.stringify({ ...head, ...fields })}\n\n`);
    const piece = (text: string, id: number, logprob: number, finish: object = { finish_reason: null }) => ({
      index: 0,
      text,
      logprobs: { text_offset: [-1], token_logprobs: [logprob], tokens: [text], top_logprobs: [] },
      matched_stop: null,
      token_ids: [id],
      ...finish,
    });
    response.writeHead(200, { "content-type": "text/event-stream" });
    event({ choices: [piece(" yes", 301, this.logprob)] });
    event({ choices: [piece("", this.end, -0.125, { finish_reason: "stop", matched_stop: this.end })] });
    const details = { prompt_tokens_details: { cached_tokens: 1 } };
    event({ choices: [], usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4, ...details } });
    response.end("data: [DONE]\n\n");
  }
}

function unknownIn(type: string, value: object): string[] {
  return Object.keys(value).filter((name) => !contract.fields[type]?.includes(name));
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
