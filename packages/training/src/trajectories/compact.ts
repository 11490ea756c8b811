import { isJsonObject } from "@heddle/exact-json";

/**
 * Returns a trajectory without what training does not read: log-probabilities as lists of numbers, where their tokens are
 * given by ids, and neither alternatives of tokens nor logs. The training sequences, and the locations in errors about
 * anything but sampled tokens, stay the same.
 */
export function compactTrajectory(trajectory: unknown): unknown {
  if (!isJsonObject(trajectory)) return trajectory;
  const { logs: _, start_time: __, additional_histories: others, ...rest } = trajectory;
  return {
    ...compactHistory(rest),
    ...(Array.isArray(others) && {
      additional_histories: others.map((each) => (isJsonObject(each) ? compactHistory(each) : each)),
    }),
  };
}

function compactHistory(history: Record<string, unknown>): Record<string, unknown> {
  const elements = history["messages_and_choices"];
  if (!Array.isArray(elements)) return history;
  return {
    ...history,
    messages_and_choices: elements.map((each) => (isJsonObject(each) ? compactElement(each) : each)),
  };
}

function compactElement(element: Record<string, unknown>): Record<string, unknown> {
  const { logprobs } = element;
  if (!isJsonObject(logprobs) || !Array.isArray(logprobs["content"]) || logprobs["content"].length === 0)
    return element;
  const entries: unknown[] = logprobs["content"];
  const ids = Array.isArray(element["token_ids"]) ? element["token_ids"] : entries.map(tokenId);
  const values = entries.map((entry) => (isJsonObject(entry) ? entry["logprob"] : undefined));
  const isRegular = ids.length === values.length && ids.every(isId) && values.every(isLogprob);
  if (isRegular) {
    const { logprobs: _, art_completion_logprobs: exact, ...rest } = element;
    return { ...rest, token_ids: ids, art_completion_logprobs: exact ?? values };
  }
  // What is irregular is reported where it was sent.
  return { ...element, logprobs: { content: entries.map(withoutAlternatives) } };
}

function tokenId(entry: unknown): number | undefined {
  const token = isJsonObject(entry) ? entry["token"] : undefined;
  return typeof token === "string" && /^token_id:\d{1,9}$/.test(token) ? Number(token.slice(9)) : undefined;
}

const isId = (id: unknown): boolean => typeof id === "number" && Number.isSafeInteger(id) && id >= 0;
const isLogprob = (value: unknown): boolean => typeof value === "number" && value <= 0;

function withoutAlternatives(entry: unknown): unknown {
  if (!isJsonObject(entry)) return entry;
  const { top_logprobs: _, ...rest } = entry;
  return rest;
}
