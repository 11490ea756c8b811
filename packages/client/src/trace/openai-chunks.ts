type Json = Record<string, unknown>;

/** Adds what a chunk of a streamed response says to the response that it is a part of. */
export function mergeChunk(output: Json, chunk: Json): void {
  if (chunk["response"] !== undefined) Object.assign(output, chunk["response"]);
  if (!Array.isArray(chunk["choices"])) return;
  const { choices, ...rest } = chunk;
  const known = (output["choices"] ??= []) as Json[];
  for (const [key, value] of Object.entries(rest)) if (value !== null) output[key] = value;
  output["object"] = "chat.completion";
  for (const { delta, ...choice } of choices as (Json & { delta?: Json })[]) {
    const { message, ...before } = (known[choice["index"] as number] ??= { message: {} }) as { message: Json };
    for (const [key, value] of Object.entries(delta ?? {})) message[key] = joined(message[key], value);
    known[choice["index"] as number] = { ...before, ...choice, message };
  }
}

/** Texts are continued, lists are joined by the index of their items. */
function joined(before: unknown, value: unknown): unknown {
  if (value === null || value === undefined) return before ?? value;
  if (Array.isArray(value)) {
    const list = [...((before as unknown[]) ?? [])] as Json[];
    for (const item of value as Json[]) {
      const { index, ...rest } = item;
      const at = typeof index === "number" ? index : list.length;
      list[at] = joined(list[at], rest) as Json;
    }
    return list;
  }
  if (typeof value === "object") {
    const result = { ...(before as Json) };
    for (const [key, each] of Object.entries(value)) {
      result[key] = key === "id" || key === "type" ? each : joined(result[key], each);
    }
    return result;
  }
  return typeof before === "string" && typeof value === "string" ? before + value : value;
}
