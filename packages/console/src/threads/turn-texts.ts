import { jsonType } from "@heddle/exact-json";
import { asText, itemsOf, membersOf } from "../json/members.js";

/** What somebody said in a turn: text where it can be told, else all that was recorded as exact JSON. */
export type Said = { text: string } | { json: string } | undefined;

/** Names under which programs keep what was asked and what was answered, the more telling ones first. */
const asked = ["question", "prompt", "query", "message", "user_input", "input", "text", "content"];
const answered = ["answer", "response", "reply", "text", "content", "message", "output"];

const isEmptyJson = (json: string): boolean => /^\s*(?:null|\{\s*\}|\[\s*\]|"")\s*$/.test(json);

/** From the inputs of a turn: the last message of the user, a member that is named as what is asked, or the only text. */
export function saidByUser(inputs: string | undefined): Said {
  if (inputs === undefined || isEmptyJson(inputs)) return undefined;
  const members = membersOf(inputs);
  const messages = members.get("messages") ?? members.get("input");
  const text = lastMessage(messages, "user") ?? named(members, asked) ?? onlyText(members) ?? plain(inputs);
  return text === undefined ? { json: inputs } : { text };
}

/** From the output of a turn: text itself, that of a chat completion, or a member that is named as an answer. */
export function saidByAssistant(output: string | undefined): Said {
  if (output === undefined || isEmptyJson(output)) return undefined;
  const members = membersOf(output);
  const text =
    plain(output) ??
    completion(members) ??
    lastMessage(members.get("messages"), "assistant") ??
    named(members, answered) ??
    onlyText(members);
  return text === undefined ? { json: output } : { text };
}

const plain = (json: string | undefined): string | undefined =>
  json !== undefined && jsonType(json) === "string" ? asText(json) : undefined;

function named(members: ReadonlyMap<string, string>, names: readonly string[]): string | undefined {
  for (const name of names) {
    const member = members.get(name);
    if (member === undefined) continue;
    // `message` may be a text or a message.
    const text = plain(member) ?? contentOf(membersOf(member));
    if (text !== undefined) return text;
  }
  return undefined;
}

function onlyText(members: ReadonlyMap<string, string>): string | undefined {
  const texts = [...members.values()].flatMap((member) => plain(member) ?? []);
  return texts.length === 1 ? texts[0] : undefined;
}

/** Of several messages of a role the last is what is said in this turn: those before it are the history. */
function lastMessage(messages: string | undefined, role: string): string | undefined {
  for (const message of itemsOf(messages ?? "").toReversed()) {
    const members = membersOf(message);
    if (plain(members.get("role")) !== role) continue;
    const text = contentOf(members);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** The text of a message, also where it is made of parts. */
function contentOf(message: ReadonlyMap<string, string>): string | undefined {
  const content = message.get("content") ?? message.get("parts");
  const text = plain(content);
  if (text !== undefined) return text;
  const parts = itemsOf(content ?? "").flatMap((part) => {
    const members = membersOf(part);
    return plain(members.get("text")) ?? plain(members.get("content")) ?? [];
  });
  return parts.length === 0 ? undefined : parts.join("\n");
}

function completion(members: ReadonlyMap<string, string>): string | undefined {
  const [choice] = itemsOf(members.get("choices") ?? "");
  return choice === undefined ? undefined : contentOf(membersOf(membersOf(choice).get("message") ?? "{}"));
}
