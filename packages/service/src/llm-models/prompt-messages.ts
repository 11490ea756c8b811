import { HeddleError } from "@heddle/errors";
import type { JsonText } from "@heddle/exact-json";
import { isMembers } from "./members.js";
import type { Members } from "./members.js";

/** The messages of a prompt object. Throws `invalid` for the value of another object. */
export function promptMessages({ objectId, val }: { objectId: string; val: JsonText }): JsonText {
  const prompt: unknown = JSON.parse(val);
  if (isMembers(prompt)) {
    const { content, messages } = prompt;
    if (typeof content === "string") return JSON.stringify([{ role: "user", content }]);
    if (Array.isArray(messages) && messages.every(isMessage)) return JSON.stringify(messages);
  }
  throw new HeddleError("invalid", `${objectId} is not a prompt: it has neither messages nor a content`);
}

function isMessage(message: unknown): message is Members {
  return isMembers(message) && typeof message["role"] === "string";
}
