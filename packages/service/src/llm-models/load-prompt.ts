import { HeddleError } from "@heddle/errors";
import { referencedObject } from "../referenced-object.js";
import type { Services } from "../services.js";
import { isMembers } from "./members.js";
import type { Members } from "./members.js";

/** The messages of a prompt object of the project. Throws as `referencedObject` does, and `invalid` for other objects. */
export async function loadPrompt(
  services: Pick<Services, "store">,
  projectId: string,
  ref: string,
): Promise<readonly Members[]> {
  const { val, object_id } = await referencedObject(services, projectId, ref);
  const prompt: unknown = JSON.parse(val);
  if (isMembers(prompt)) {
    const { content, messages } = prompt;
    if (typeof content === "string") return [{ role: "user", content }];
    if (Array.isArray(messages) && messages.every(isMessage)) return messages;
  }
  throw new HeddleError("invalid", `${object_id} is no prompt: it has neither messages nor a content`);
}

function isMessage(message: unknown): message is Members {
  return isMembers(message) && typeof message["role"] === "string";
}
