import { asText } from "../../json/members.js";
import type { Message, MessagePart } from "./messages.js";

/** A message of a trace, and the call that had it first. */
export interface JoinedMessage {
  callId: string;
  message: Message;
}

/** How often the calls so far had each message. */
export type Seen = ReadonlyMap<string, number>;

/**
 * The messages of several calls, in the order of the calls, each once: what a call is sent is what calls before it were sent and
 * made, those included whose messages were `seen`. The same words said twice in one call are two messages.
 */
export function joinMessages(
  calls: readonly { id: string; messages: readonly Message[] }[],
  before: Seen = new Map(),
): { messages: JoinedMessage[]; seen: Seen } {
  const seen = new Map(before);
  const joined = calls.flatMap(({ id, messages }) => {
    const here = new Map<string, number>();
    return messages.flatMap((message): JoinedMessage[] => {
      const key = keyOf(message);
      const times = (here.get(key) ?? 0) + 1;
      here.set(key, times);
      if (times <= (seen.get(key) ?? 0)) return [];
      seen.set(key, times);
      return [{ callId: id, message }];
    });
  });
  return { messages: joined, seen };
}

/** What is said, whatever the form: reasoning is left out of what is sent on, and arguments come as JSON or as a text of it. */
function keyOf({ role, parts }: Message): string {
  const who = role === "model" ? "assistant" : role;
  return JSON.stringify([who, parts.flatMap((part) => (part.kind === "reasoning" ? [] : [keyOfPart(part)]))]);
}

function keyOfPart(part: MessagePart): string[] {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return ["text", part.text];
    case "image":
      return ["image", part.url];
    case "tool call":
      return ["tool call", part.name, part.id ?? "", asText(part.json).replaceAll(/\s/g, "")];
    default:
      return [part.kind, asText(part.json).replaceAll(/\s/g, "")];
  }
}
