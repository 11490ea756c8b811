/** A tool call as it has arrived. */
interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

/** A choice as it has arrived. */
export interface Choice {
  text: string;
  reasoning: string;
  tools: readonly ToolCall[];
  /** Why it ended; empty while it has not. */
  finish: string;
}

export interface Answer {
  choices: readonly Choice[];
  /** Of prompt and completion, where the model said it. */
  tokens: { prompt: number; completion: number } | undefined;
}

export const noAnswer: Answer = { choices: [], tokens: undefined };

type Members = Record<string, unknown>;
const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null;
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const emptyChoice: Choice = { text: "", reasoning: "", tools: [], finish: "" };
/** Choices and tool calls of one answer: what names more is garbage. */
const most = 128;

/** An answer with one more chunk of its stream. What is not a chunk throws, so that it is said. */
export function withChunk(answer: Answer, chunk: unknown): Answer {
  if (!isObject(chunk) || (!Array.isArray(chunk["choices"]) && !isObject(chunk["usage"])))
    throw new Error(`The model sent something else than a chunk: ${JSON.stringify(chunk)?.slice(0, 200)}`);
  const choices = [...answer.choices];
  for (const given of Array.isArray(chunk["choices"]) ? (chunk["choices"] as unknown[]) : []) {
    if (!isObject(given)) continue;
    const index = typeof given["index"] === "number" ? given["index"] : 0;
    if (!Number.isInteger(index) || index < 0 || index >= most) continue;
    while (choices.length <= index) choices.push(emptyChoice);
    choices[index] = withDelta(choices[index] ?? emptyChoice, given);
  }
  return { choices, tokens: tokensOf(chunk["usage"]) ?? answer.tokens };
}

function withDelta(choice: Choice, { delta, finish_reason: finish }: Members): Choice {
  const of = isObject(delta) ? delta : {};
  const tools = [...choice.tools];
  for (const call of Array.isArray(of["tool_calls"]) ? (of["tool_calls"] as unknown[]) : []) {
    if (!isObject(call)) continue;
    const index = typeof call["index"] === "number" ? call["index"] : tools.length;
    if (!Number.isInteger(index) || index < 0 || index >= most) continue;
    while (tools.length <= index) tools.push({ id: "", name: "", arguments: "" });
    const present = tools[index] ?? { id: "", name: "", arguments: "" };
    const named = isObject(call["function"]) ? call["function"] : {};
    tools[index] = {
      id: present.id || textOf(call["id"]),
      name: present.name + textOf(named["name"]),
      arguments: present.arguments + textOf(named["arguments"]),
    };
  }
  return {
    text: choice.text + textOf(of["content"]) + textOf(of["refusal"]),
    reasoning: choice.reasoning + (textOf(of["reasoning_content"]) || textOf(of["reasoning"])),
    tools,
    finish: textOf(finish) || choice.finish,
  };
}

function tokensOf(usage: unknown): Answer["tokens"] {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens: prompt, completion_tokens: completion } = usage;
  return typeof prompt === "number" && typeof completion === "number" ? { prompt, completion } : undefined;
}

/** A choice as the message that a request has for it, as JSON. */
export function messageOf({ text, tools }: Choice): string {
  return JSON.stringify({
    role: "assistant",
    content: text === "" && tools.length > 0 ? null : text,
    ...(tools.length > 0 && {
      tool_calls: tools.map(({ id, name, arguments: given }) => ({
        id,
        type: "function",
        function: { name, arguments: given },
      })),
    }),
  });
}
