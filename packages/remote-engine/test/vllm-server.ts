import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { adapterValues } from "./adapter-files.js";
import { closeNow, listenLocally } from "./local-server.js";

export interface VllmRequest {
  method: string;
  path: string;
  body: Record<string, unknown>;
  headers: IncomingMessage["headers"];
}

export type VllmFault =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  /** Cuts the connection before the response, or after so many events of the stream. */
  | { cutAfterEvents: number };

/** One sampled token of the server: its id and text, its log-probability, and those of other tokens. */
export interface ServedToken {
  id: number;
  text: string;
  logprob: number;
  others?: Record<number, number>;
}

const baseName = "tiny";

/** What vLLM reads and sends, as its package says; `pnpm vllm-contract -u` reads it again. */
const contract = JSON.parse(readFileSync(new URL("vllm-contract.json", import.meta.url), "utf8")) as {
  routes: string[];
  /** Fields of each class of the package; what a request has besides is ignored without an error. */
  fields: Record<string, string[]>;
};
const requestTypes: Record<string, string> = {
  "/v1/completions": "CompletionRequest",
  "/v1/load_lora_adapter": "LoadLoRAAdapterRequest",
  "/v1/unload_lora_adapter": "UnloadLoRAAdapterRequest",
};

/** A server with the wire of vLLM 0.32: its responses are scripted, its adapters are kept as it keeps them. */
export class VllmServer {
  readonly requests: VllmRequest[] = [];
  /** Routes, and fields of requests and of its own responses, that vLLM does not have. */
  readonly unknown = new Set<string>();
  /** Directories of loaded adapters by name. */
  readonly adapters = new Map<string, string>();
  /** Tokens of each completion by index; the last entry repeats. */
  script: ServedToken[][] = [];
  finish: { finish_reason: string; stop_reason: string | number | null } = { finish_reason: "stop", stop_reason: null };
  /** Vocabulary of the model: the prompt is then scored by the weights of the adapter. */
  vocabulary: number | undefined;
  /** Added to the log-probabilities of prompts that no adapter scores, as if the server had other weights. */
  scoreShift = 0;
  /** Sends a request to a path of `HF_ENDPOINT`. Undefined: nothing is fetched. */
  hub: ((path: string) => Promise<Response>) | undefined;
  /** What was fetched. */
  readonly #fetched: string[] = [];
  /** Whether adapters may be loaded at run time. */
  loadsAdapters = true;
  fault: (request: VllmRequest) => VllmFault | undefined = () => undefined;
  /** Completion requests whose client has disconnected before the end. */
  aborted = 0;
  /** Keeps a stream open after its first event until this resolves. */
  hold: Promise<void> | undefined;
  url = "";
  readonly #server = createServer((request, response) => void this.#serve(request, response));

  async listen(): Promise<this> {
    this.url = await listenLocally(this.#server);
    return this;
  }

  async close(): Promise<void> {
    for (const directory of this.#fetched) rmSync(directory, { recursive: true, force: true });
    await closeNow(this.#server);
  }

  /** Bodies of the requests to a path. */
  sent(path: string): Record<string, unknown>[] {
    return this.requests.filter((request) => request.path === path).map(({ body }) => body);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    const { method = "", url: path = "", headers } = request;
    const seen = { method, path, headers, body: text === "" ? {} : (JSON.parse(text) as Record<string, unknown>) };
    this.requests.push(seen);
    if (!contract.routes.includes(path)) this.unknown.add(path);
    this.#check(requestTypes[path], seen.body);
    const fault = this.fault(seen);
    if (fault && "status" in fault) return sendJson(response, fault.status, fault.body, fault.headers);
    if (fault?.cutAfterEvents === 0) return void request.socket.destroy();
    if (path === "/v1/models") {
      const data = [{ id: baseName, root: "/models/tiny", parent: null, max_model_len: 64 }];
      const adapters = [...this.adapters].map(([id, root]) => ({ id, root, parent: baseName }));
      return sendJson(response, 200, { object: "list", data: [...data, ...adapters] });
    }
    if (path === "/v1/completions") return await this.#complete(seen.body, response, fault?.cutAfterEvents);
    if (path.endsWith("_lora_adapter") && this.loadsAdapters)
      return await this.#changeAdapters(path, seen.body, response);
    sendJson(response, 404, { detail: "Not Found" });
  }

  #check(type: string | undefined, value: object): void {
    if (type === undefined) return;
    for (const name of Object.keys(value)) {
      if (!contract.fields[type]?.includes(name)) this.unknown.add(`${type}.${name}`);
    }
  }

  /** As the hub's client does. Without success, the server reads a directory of that name. */
  async #fetch(repository: string): Promise<string> {
    if (isAbsolute(repository) || this.hub === undefined) return repository;
    const about = await this.hub(`/api/models/${repository}/revision/main`);
    if (!about.ok) return repository;
    const { sha, siblings } = (await about.json()) as { sha: string; siblings: { rfilename: string }[] };
    const directory = mkdtempSync(join(tmpdir(), "heddle-fetched-"));
    this.#fetched.push(directory);
    for (const { rfilename: file } of siblings) {
      const response = await this.hub(`/${repository}/resolve/${sha}/${file}`);
      if (response.ok) writeFileSync(join(directory, file), Buffer.from(await response.arrayBuffer()));
    }
    return directory;
  }

  async #changeAdapters(path: string, body: Record<string, unknown>, response: ServerResponse): Promise<void> {
    const { lora_name: name, lora_path: asked = "" } = body as { lora_name: string; lora_path?: string };
    const succeed = (message: string) => response.writeHead(200).end(message);
    if (path === "/v1/unload_lora_adapter") {
      if (this.adapters.delete(name)) return void succeed(`Success: LoRA adapter '${name}' removed successfully.`);
      return sendError(response, 404, "NotFoundError", `The lora adapter '${name}' cannot be found.`);
    }
    if (this.adapters.has(name)) {
      const message = `The lora adapter '${name}' has already been loaded. If you want to load the adapter in place, set 'load_inplace' to True.`;
      return sendError(response, 400, "InvalidUserInput", message);
    }
    const directory = await this.#fetch(asked);
    if (!existsSync(join(directory, "adapter_config.json"))) {
      return sendError(
        response,
        404,
        "NotFoundError",
        `Loading lora ${name} failed: No adapter found for ${directory}`,
      );
    }
    this.adapters.set(name, directory);
    succeed(`Success: LoRA adapter '${name}' added successfully.`);
  }

  #promptEntries(prompt: number[], model: string) {
    const { vocabulary } = this;
    const directory = this.adapters.get(model);
    const logits =
      vocabulary !== undefined && directory !== undefined
        ? adapterValues(readFileSync(join(directory, "adapter_model.safetensors")))
        : undefined;
    return prompt.map((token, at) => {
      if (at === 0) return null;
      const scored =
        logits && vocabulary ? bigramLogprob(logits, vocabulary, [prompt[at - 1]!, token]) : -2 - at + this.scoreShift;
      return {
        [token]: { logprob: scored, rank: 3, decoded_token: "x" },
        [900]: { logprob: -0.5, rank: 1, decoded_token: "y" },
      };
    });
  }

  async #complete(body: Record<string, unknown>, response: ServerResponse, cutAfterEvents = Infinity): Promise<void> {
    const {
      model,
      n,
      stream,
      prompt,
      prompt_logprobs: promptLogprobs,
    } = body as {
      model: string;
      n: number;
      stream?: boolean;
      prompt: number[];
      prompt_logprobs?: number;
    };
    if (model !== baseName && !this.adapters.has(model)) {
      return sendError(response, 404, "NotFoundError", `The model \`${model}\` does not exist.`);
    }
    response.on("close", () => {
      if (!response.writableFinished) this.aborted++;
    });
    const completions = Array.from({ length: n }, (_, index) => this.script[index] ?? this.script.at(-1) ?? []);
    const head = { id: "cmpl-1", object: "text_completion", created: 1, model };
    const usage = {
      prompt_tokens: prompt.length,
      completion_tokens: 1,
      total_tokens: 2,
      prompt_tokens_details: { cached_tokens: 4 },
    };
    if (stream !== true) {
      const choices = completions.map((tokens, index) => ({
        ...choice(index, tokens),
        ...this.finish,
        prompt_logprobs: promptLogprobs === undefined ? null : this.#promptEntries(prompt, model),
        prompt_token_ids: prompt,
      }));
      for (const each of choices) {
        this.#check("CompletionResponseChoice", each);
        this.#check("CompletionLogProbs", each.logprobs);
      }
      return sendJson(response, 200, { ...head, choices, usage });
    }
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    const events: unknown[] = [];
    for (let at = 0; at < Math.max(...completions.map(({ length }) => length)); at++) {
      for (const [index, tokens] of completions.entries()) {
        const token = tokens[at];
        if (!token) continue;
        const end = at === tokens.length - 1 ? this.finish : { finish_reason: null, stop_reason: null };
        const part = { ...choice(index, [token]), ...end };
        this.#check("CompletionResponseStreamChoice", part);
        events.push({ ...head, choices: [part] });
      }
    }
    events.push({ ...head, choices: [], usage });
    for (const [at, event] of events.entries()) {
      if (at >= cutAfterEvents) return void response.destroy();
      await new Promise((resolve) => response.write(`data: ${JSON.stringify(event)}\n\n`, resolve));
      if (at === 0) await this.hold;
    }
    response.end("data: [DONE]\n\n");
  }
}

/** Log-probability of a token after another one, by the bigram logits that an adapter has as its weights. */
function bigramLogprob(logits: number[], vocabulary: number, [previous, token]: [number, number]): number {
  const row = logits.slice(previous * vocabulary, (previous + 1) * vocabulary);
  return row[token]! - Math.log(row.reduce((total, logit) => total + Math.exp(logit), 0));
}

function choice(index: number, tokens: ServedToken[]) {
  return {
    index,
    text: tokens.map(({ text }) => text).join(""),
    logprobs: {
      text_offset: tokens.map(() => 0),
      token_logprobs: tokens.map(({ logprob }) => logprob),
      tokens: tokens.map(({ id }) => `token_id:${id}`),
      top_logprobs: tokens.map(({ id, logprob, others = {} }) => ({
        [`token_id:${id}`]: logprob,
        ...Object.fromEntries(Object.entries(others).map(([other, value]) => [`token_id:${other}`, value])),
      })),
    },
    token_ids: tokens.map(({ id }) => id),
  };
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body ?? {}));
}

function sendError(response: ServerResponse, code: number, type: string, message: string): void {
  sendJson(response, code, { error: { message, type, param: null, code } });
}
