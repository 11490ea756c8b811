/** A parameter with a field of its own, as the specification of chat completions has it. */
export interface Parameter {
  name: string;
  type: "number" | "integer" | "boolean";
  least?: number;
  most?: number;
}

export const parameters: readonly Parameter[] = [
  { name: "temperature", type: "number", least: 0 },
  { name: "top_p", type: "number", most: 1 },
  { name: "max_completion_tokens", type: "integer", least: 1 },
  { name: "seed", type: "integer" },
  { name: "top_k", type: "integer", least: -1 },
  { name: "min_p", type: "number", least: 0, most: 1 },
  { name: "frequency_penalty", type: "number", least: -2, most: 2 },
  { name: "presence_penalty", type: "number", least: -2, most: 2 },
  { name: "n", type: "integer", least: 1, most: 128 },
  { name: "parallel_tool_calls", type: "boolean" },
];

/** Why a text is not a value of a parameter; undefined where it is, or is empty. */
export function mistakeIn({ type, least, most }: Parameter, text: string): string | undefined {
  if (text.trim() === "") return undefined;
  const isNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text.trim());
  if (!isNumber) return "a number";
  if (type === "integer" && !/^-?\d+$/.test(text.trim())) return "a whole number";
  const value = Number(text);
  if (least !== undefined && value < least) return `at least ${least}`;
  if (most !== undefined && value > most) return `at most ${most}`;
  return undefined;
}
