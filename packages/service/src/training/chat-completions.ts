import { callerMay } from "@heddle/control-plane";
import type { Role } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { reply } from "@heddle/server-stub";
import type {
  CreateChatCompletionRequest,
  CreateChatCompletionSlashRequest,
  TrainingHandlers,
} from "@heddle/server-stub/training";
import { checkProject } from "../access/authorize.js";
import { projectIdRule, splitProject } from "../access/project-id.js";
import type { ModelAccess } from "../chat-completions/completions.js";
import type { Caller, Services } from "../services.js";
import { wireUnavailable } from "../wire/training-model.js";

/** The project of completions of base models where the request names none. */
const defaultProject = "chat";

export function chatCompletionHandlers({ completions }: Services): TrainingHandlers<Caller>["chatCompletions"] {
  async function create(
    { body, headers, requestId, signal }: CreateChatCompletionRequest | CreateChatCompletionSlashRequest,
    caller: Caller,
  ) {
    const access = accessOf(caller, "write");
    const baseProject = projectOf(headers["OpenAI-Project"], caller);
    const response = await completions.create({
      body,
      access,
      sharer: { key: caller.key_id, entity: caller.entity },
      signal,
      requestId,
      record: { baseProject, userId: caller.user_id, mayWrite: (projectId) => access.mayUse(projectId) },
    });
    return reply(200, response.body, {
      ...(response.callId !== undefined && { "x-heddle-call-id": response.callId }),
    });
  }

  return { createChatCompletion: create, createChatCompletionSlash: create };
}

export function servedModelHandlers({ completions }: Services): TrainingHandlers<Caller>["servedModels"] {
  return {
    async listServedModels(_request, caller) {
      const { models, unavailable } = await completions.models(accessOf(caller, "read"));
      return { object: "list", data: models, unavailable: unavailable.map(wireUnavailable) };
    },

    getServedModel: async ({ params }, caller) => await completions.model(params.model, accessOf(caller, "read")),
  };
}

function accessOf(caller: Caller, right: Role): ModelAccess {
  return {
    ...(!caller.owner && { entity: caller.entity }),
    mayUse(projectId) {
      const name = splitProject(projectId);
      return name !== undefined && callerMay(caller, name.entity, name.project, right);
    },
  };
}

/** Throws `unprocessable` for text that names no project, `forbidden` for one that the caller may not write. */
function projectOf(given: string | undefined, caller: Caller): string {
  if (given === undefined) return `${caller.entity}/${defaultProject}`;
  const projectId = given.includes("/") ? given : `${caller.entity}/${given}`;
  if (splitProject(projectId) === undefined)
    throw new HeddleError("unprocessable", projectIdRule, { loc: ["OpenAI-Project"] });
  checkProject(caller, "write", projectId);
  return projectId;
}
