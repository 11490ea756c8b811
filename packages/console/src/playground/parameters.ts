import { chatParameters } from "./chat-parameters.js";
import type { Draft } from "./draft.js";

/** A parameter as the specification of chat completions has it; `json` is one without a field of its own. */
export interface Parameter {
  name: string;
  type: "number" | "integer" | "boolean" | "choice" | "json";
  least?: number;
  above?: number;
  most?: number;
  values?: readonly string[];
}

/** Those that most people set, in this order; the others come after. */
export const usualParameters: readonly string[] = [
  "temperature",
  "top_p",
  "max_completion_tokens",
  "seed",
  "top_k",
  "min_p",
  "frequency_penalty",
  "presence_penalty",
  "n",
  "parallel_tool_calls",
];

const all: readonly Parameter[] = chatParameters;
const withField = all.filter(({ type }) => type !== "json");
export const parametersShown = usualParameters.flatMap((name) => withField.filter((each) => each.name === name));
export const parametersBehind = withField.filter(({ name }) => !usualParameters.includes(name));

/** Names that mean nothing to the service: it ignores them. */
export const strangersIn = (draft: Draft): string[] =>
  [...draft.keys()].filter(
    (name) => name !== "messages" && name !== "tools" && !all.some((parameter) => parameter.name === name),
  );

/** Why a text is not a value of a parameter; undefined where it is, or is empty. */
export function mistakeIn({ type, least, above, most }: Parameter, text: string): string | undefined {
  if (text.trim() === "") return undefined;
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text.trim());
  if (!isNumber) return "a number";
  if (type === "integer" && !/^-?\d+$/.test(text.trim())) return "a whole number";
  const value = Number(text);
  if (least !== undefined && value < least) return `at least ${least}`;
  if (above !== undefined && value <= above) return `above ${above}`;
  if (most !== undefined && value > most) return `at most ${most}`;
  return undefined;
}
