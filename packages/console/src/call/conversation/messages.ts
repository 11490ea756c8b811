import { jsonType } from "@heddle/exact-json";
import { asText, itemsOf, membersOf } from "../../json/members.js";

/** A part of a message. JSON in it is exact text. */
export type MessagePart =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "tool call"; name: string; id?: string; json: string }
  | { kind: "tool result"; id?: string; json: string }
  | { kind: "image"; url: string }
  /** Of a form that is not known. */
  | { kind: "other"; json: string };

export interface Message {
  role: string;
  /** Whether the call itself made it. */
  isOutput: boolean;
  parts: MessagePart[];
}

/** Longer values are shown as JSON alone: reading them would hold up the page. */
const longestValue = 2_000_000;

type Members = ReadonlyMap<string, string>;

/**
 * The messages that a call got and made, where it is one of a model: in the forms of chat completions, responses, Anthropic
 * messages, Gemini contents and OpenTelemetry's parts. Empty for other calls.
 */
export function messagesOf(call: { inputs: string; output?: string | undefined; attributes?: string }): Message[] {
  const { inputs, output = "null", attributes = "{}" } = call;
  if (inputs.length + output.length + attributes.length > longestValue) return [];
  const asked = [...systemOf(membersOf(inputs)), ...listsOf(membersOf(inputs), inputNames)];
  const outputMessages = outputOf(output);
  const messages = [...asked, ...outputMessages.map((message) => ({ ...message, isOutput: true }))];
  return asked.length > 0 ? messages : [];
}

const inputNames = ["messages", "contents", "input", "input_messages", "gen_ai.input.messages", "prompt"];

function systemOf(inputs: Members): Message[] {
  for (const name of ["system", "instructions", "system_instruction", "systemInstruction"]) {
    const json = inputs.get(name);
    if (json === undefined || jsonType(json) === "null") continue;
    const parts = partsOf(membersOf(json).get("parts") ?? json);
    if (parts.length > 0) return [{ role: "system", isOutput: false, parts }];
  }
  return [];
}

/** Of the first member that is a list of messages. */
function listsOf(members: Members, names: readonly string[]): Message[] {
  for (const name of names) {
    const json = members.get(name);
    if (json === undefined) continue;
    // The Responses API takes a text for one message.
    if (name === "input" && jsonType(json) === "string" && members.has("model"))
      return [{ role: "user", isOutput: false, parts: [{ kind: "text", text: asText(json) }] }];
    const messages = itemsOf(json).flatMap(messageOf);
    if (messages.length > 0) return messages;
  }
  return [];
}

function outputOf(output: string): Message[] {
  const members = membersOf(output);
  const choices = itemsOf(members.get("choices") ?? members.get("candidates") ?? "");
  const messages = choices.flatMap((choice) => {
    const of = membersOf(choice);
    return messageOf(of.get("message") ?? of.get("content") ?? of.get("delta") ?? "");
  });
  if (messages.length > 0) return messages.map((message) => ({ ...message, role: message.role || "assistant" }));
  const lists = listsOf(members, ["output", "messages", "gen_ai.output.messages", "output_messages"]);
  if (lists.length > 0) return lists;
  if (jsonType(output) === "array") return itemsOf(output).flatMap(messageOf);
  if (jsonType(output) === "string")
    return [{ role: "assistant", isOutput: true, parts: [{ kind: "text", text: asText(output) }] }];
  return messageOf(members.get("message") ?? output);
}

function messageOf(json: string): Message[] {
  const members = membersOf(json);
  const type = textOf(members, "type");
  if (type === "function_call" || type === "custom_tool_call") return [toolMessage("assistant", callOf(members))];
  if (type === "function_call_output" || type === "custom_tool_call_output")
    return [toolMessage("tool", { kind: "tool result", ...idOf(members), json: members.get("output") ?? "null" })];
  if (type === "reasoning")
    return [
      { role: "assistant", isOutput: false, parts: reasoningOf(members.get("summary") ?? members.get("content")) },
    ];
  const role = textOf(members, "role");
  const content = members.get("content") ?? members.get("parts");
  if (role === undefined || (content === undefined && !members.has("tool_calls"))) return [];
  const reasoning = ["reasoning_content", "reasoning", "thinking"].flatMap((name) => reasoningOf(members.get(name)));
  const parts: MessagePart[] =
    role === "tool" || role === "function"
      ? [{ kind: "tool result", ...idOf(members), json: content ?? "null" }]
      : content === undefined
        ? []
        : partsOf(content);
  const refusal = textOf(members, "refusal");
  const calls = itemsOf(members.get("tool_calls") ?? "").map((call) => callOf(membersOf(call)));
  return [
    {
      role,
      isOutput: false,
      parts: [
        ...reasoning,
        ...parts,
        ...(refusal === undefined ? [] : [{ kind: "text" as const, text: refusal }]),
        ...calls,
      ],
    },
  ];
}

const toolMessage = (role: string, part: MessagePart): Message => ({ role, isOutput: false, parts: [part] });

/** Of a content: a text, or a list of parts. */
function partsOf(content: string): MessagePart[] {
  const type = jsonType(content);
  if (type === "null") return [];
  if (type === "string") return [{ kind: "text", text: asText(content) }];
  return type === "array" ? itemsOf(content).map(partOf) : [partOf(content)];
}

function partOf(json: string): MessagePart {
  if (jsonType(json) === "string") return { kind: "text", text: asText(json) };
  const members = membersOf(json);
  const type = textOf(members, "type") ?? "";
  const text =
    textOf(members, "text") ?? textOf(members, "refusal") ?? (type === "text" ? textOf(members, "content") : undefined);
  if (type === "thinking" || type === "reasoning")
    return { kind: "reasoning", text: textOf(members, "thinking") ?? textOf(members, "content") ?? text ?? "" };
  if (text !== undefined) return { kind: "text", text };
  const call = members.get("functionCall") ?? members.get("function_call");
  if (type === "tool_use" || type === "tool_call" || call !== undefined)
    return callOf(call === undefined ? members : membersOf(call));
  if (type === "tool_result" || type === "tool_call_response")
    return {
      kind: "tool result",
      ...idOf(members),
      json: members.get("content") ?? members.get("response") ?? members.get("result") ?? "null",
    };
  const response = members.get("functionResponse");
  if (response !== undefined) return { kind: "tool result", json: membersOf(response).get("response") ?? response };
  const url = imageOf(members);
  return url === undefined ? { kind: "other", json } : { kind: "image", url };
}

/** OpenAI's `function`, Anthropic's `input`, Gemini's `args` and OpenTelemetry's `arguments`. */
function callOf(members: Members): MessagePart {
  const of = membersOf(members.get("function") ?? "");
  const json = of.get("arguments") ?? members.get("arguments") ?? members.get("input") ?? members.get("args") ?? "{}";
  return { kind: "tool call", name: textOf(of, "name") ?? textOf(members, "name") ?? "", ...idOf(members), json };
}

function imageOf(members: Members): string | undefined {
  const image = members.get("image_url");
  if (image !== undefined) return jsonType(image) === "string" ? asText(image) : textOf(membersOf(image), "url");
  const source = membersOf(members.get("source") ?? members.get("inlineData") ?? members.get("inline_data") ?? "");
  const [data, mime] = [
    textOf(source, "data"),
    textOf(source, "media_type") ?? textOf(source, "mimeType") ?? textOf(source, "mime_type"),
  ];
  return data === undefined || mime === undefined ? textOf(source, "url") : `data:${mime};base64,${data}`;
}

function reasoningOf(json: string | undefined): MessagePart[] {
  if (json === undefined || jsonType(json) === "null") return [];
  const texts =
    jsonType(json) === "string"
      ? [asText(json)]
      : itemsOf(json).flatMap((item) => textOf(membersOf(item), "text") ?? []);
  return texts.filter(Boolean).map((text) => ({ kind: "reasoning", text }));
}

function idOf(members: Members): { id?: string } {
  const id =
    textOf(members, "call_id") ??
    textOf(members, "tool_call_id") ??
    textOf(members, "tool_use_id") ??
    textOf(members, "id");
  return id === undefined ? {} : { id };
}

function textOf(members: Members, name: string): string | undefined {
  const json = members.get(name);
  return json !== undefined && jsonType(json) === "string" ? asText(json) : undefined;
}

/** Whether an image is part of the message itself, and of a kind that a browser draws and does not run. */
export const isOwnImage = (url: string): boolean => /^data:image\/(?:png|jpeg|gif|webp|avif);base64,/.test(url);
