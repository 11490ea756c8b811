import { isJsonObject } from "@heddle/exact-json";
import type { GenerateRequest } from "@heddle/training";
import type { ServerResponse } from "../server-response.js";
import { reasonOf } from "../server-response.js";
import { canStream, completionBody, unsupportedFields } from "./completion-request.js";
import { sglangBody, sglangUnsupportedFields } from "./sglang-request.js";

/** In what the programs differ that serve OpenAI's completions and load adapters at run time. */
export interface Dialect {
  loadPath: string;
  unloadPath: string;
  unsupportedFields: (request: Partial<GenerateRequest>) => (keyof GenerateRequest)[];
  canStream: (request: GenerateRequest) => boolean;
  /** Returns the body of a completion request, and the model that its response names. */
  completion: (
    request: GenerateRequest,
    names: { base: string; adapter: string | undefined },
    eosIds: readonly number[],
  ) => { body: Record<string, unknown>; model: string };
  /** Whether a refused completion may be due to an adapter that is not loaded. */
  lacksAdapter: (refused: ServerResponse) => boolean;
}

export const vllm: Dialect = {
  loadPath: "v1/load_lora_adapter",
  unloadPath: "v1/unload_lora_adapter",
  unsupportedFields,
  canStream,
  completion(request, { base, adapter = base }, eosIds) {
    return { body: completionBody(request, adapter, eosIds), model: adapter };
  },
  lacksAdapter: ({ status }) => status === 404,
};

const sglang: Dialect = {
  loadPath: "load_lora_adapter",
  unloadPath: "unload_lora_adapter",
  unsupportedFields: sglangUnsupportedFields,
  canStream: () => true,
  completion: (request, names, eosIds) => ({ body: sglangBody(request, names, eosIds), model: names.base }),
  lacksAdapter: ({ status, body }) => status === 400 && /adapters are not loaded/u.test(reasonOf(body)),
};

/** Returns the dialect of a server by its list of models, which says whose they are. */
export function dialectOf(models: unknown): Dialect {
  const data: unknown[] = isJsonObject(models) && Array.isArray(models["data"]) ? models["data"] : [];
  return data.some((model) => isJsonObject(model) && model["owned_by"] === "sglang") ? sglang : vllm;
}
