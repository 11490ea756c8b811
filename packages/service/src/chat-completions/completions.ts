import type { ResponseSchemas, Schemas } from "@heddle/server-stub/training";
import type { Sharer } from "@heddle/concurrency";
import type { UnavailableModel } from "@heddle/training";

/** Whose models may be used. */
export interface ModelAccess {
  /** The entity whose models a name alone is looked up in; absent: all entities. */
  entity?: string;
  mayUse(projectId: string): boolean;
}

/** A chat completion that somebody asks for. */
export interface CompletionRequest {
  body: Schemas["ChatCompletionReq"];
  access: ModelAccess;
  sharer: Sharer;
  /** Ends the generation when it aborts. */
  signal: AbortSignal;
  /** Id of the request, for a completion without an id of its own. */
  requestId?: string | undefined;
  /** Where the completion of a base model is recorded, and for whom; absent: nothing is recorded. */
  record?: { baseProject: string; userId: string; mayWrite(projectId: string): boolean };
}

export interface CompletionResponse {
  body: ResponseSchemas["ChatCompletion"] | AsyncIterable<ResponseSchemas["ChatCompletionChunk"]>;
  /** Id of the call as which the completion is recorded. */
  callId?: string;
}

/** Chat completions of the models of this service. */
export interface Completions {
  /**
   * Generates a completion. Throws `not_found` for a model that does not exist or may not be used, `unprocessable` for a
   * request without a model, `invalid` and `unsupported` with the field, `rate_limited` and `busy` when there are too
   * many requests. A stream throws as well.
   */
  create(request: CompletionRequest): Promise<CompletionResponse>;
  /** The models that may be used, in the form of the OpenAI API. */
  models(access: ModelAccess): Promise<{ models: ResponseSchemas["ServedModel"][]; unavailable: UnavailableModel[] }>;
  /** The model of a name, as it is listed. Throws `not_found` and `invalid` as completions do. */
  model(name: string, access: ModelAccess): Promise<ResponseSchemas["ServedModel"]>;
  /** Stores what is not recorded yet. */
  close(): Promise<void>;
}
