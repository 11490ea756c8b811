import { HeddleError } from "@heddle/errors";
import { Problem, writeJson } from "@heddle/server-stub";
import { readBodyPart } from "@heddle/server-stub/training";
import type { ResponseSchemas, Schemas } from "@heddle/server-stub/training";
import type { Completions } from "../chat-completions/completions.js";
import type { ChatCompletion, ChatModel } from "../providers/chat-completions.js";

const prefix = "heddle/";

/**
 * The name of a model of this service that a model object names: `heddle/entity/project/name`, with a step or without, a
 * base model as `heddle/random:tiny`, or the URI of an artifact. Undefined for the model of a provider.
 */
export function ownModelName(modelId: string): string | undefined {
  if (/^[a-z0-9+.-]*artifact:\/\//i.test(modelId)) return modelId;
  if (!modelId.startsWith(prefix)) return undefined;
  const rest = modelId.slice(prefix.length);
  // A name alone is that of a base model: heddle/starter.
  return /[/:]/.test(rest) ? rest : modelId;
}

/** A model of this service, without a request over HTTP. Of trained models it may be one of the project. */
export function ownChatModel(completions: Completions, projectId: string, name: string): ChatModel {
  const entity = projectId.slice(0, projectId.indexOf("/"));
  return {
    async complete(request, signal) {
      const { body } = await completions.create({
        // Only the message is used: log-probabilities would be made for nothing.
        body: bodyOf({ ...request, ...withoutLogprobs, model: name, stream: false }),
        access: { entity, mayUse: (id) => id === projectId },
        sharer: { key: `evaluations of ${projectId}`, entity },
        signal,
      });
      return completionOf(body as ResponseSchemas["ChatCompletion"]);
    },
  };
}

const withoutLogprobs = { logprobs: false, top_logprobs: 0, prompt_logprobs: undefined, return_token_ids: false };

function bodyOf(request: object): Schemas["ChatCompletionReq"] {
  try {
    return readBodyPart("createChatCompletion", writeJson(request)) as Schemas["ChatCompletionReq"];
  } catch (error) {
    if (error instanceof Problem) throw new HeddleError("invalid", error.message);
    throw error;
  }
}

function completionOf({ choices: [choice], usage }: ResponseSchemas["ChatCompletion"]): ChatCompletion {
  if (choice === undefined) throw new HeddleError("failed", "the model returned no choice");
  return { message: { ...choice.message }, finishReason: choice.finish_reason, usage: { ...usage } };
}
