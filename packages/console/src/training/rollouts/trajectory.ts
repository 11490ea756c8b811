/** A sampled token. Without a log-probability it is not trained. */
export interface Token {
  text: string;
  logprob: number | undefined;
}

/** One turn of a rollout; those that were sampled have their tokens. */
export interface RolloutTurn {
  role: string;
  text: string;
  tokens: Token[] | undefined;
  finish: string | undefined;
}

const record = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** The turns of a trajectory as it was sent, those of its further conversations after the first. Anything may be missing. */
export function turnsOf(trajectory: unknown): RolloutTurn[] {
  const { messages_and_choices: first, additional_histories: further } = record(trajectory);
  const histories = [first, ...list(further).map((history) => record(history)["messages_and_choices"])];
  return histories.flatMap((history) => list(history).map(turnOf));
}

function turnOf(element: unknown): RolloutTurn {
  const of = record(element);
  const message = "message" in of ? record(of["message"]) : of;
  const { role, content, tool_calls: calls } = message;
  const finish = of["finish_reason"];
  return {
    role: typeof role === "string" ? role : "message" in of ? "assistant" : "no role",
    text: [textOf(content), ...list(calls).map((call) => JSON.stringify(record(call)["function"] ?? call))]
      .filter((text) => text !== "")
      .join("\n"),
    tokens: tokensOf(of["logprobs"] ?? message["logprobs"]),
    finish: typeof finish === "string" ? finish : undefined,
  };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return list(content)
    .map((part) => {
      const { type, text } = record(part);
      return typeof text === "string" ? text : `[${typeof type === "string" ? type : "part"}]`;
    })
    .join("\n");
}

/** Less is unknown, as the API says. */
const leastLogprob = -9000;

function tokensOf(logprobs: unknown): Token[] | undefined {
  const { content, refusal } = record(logprobs);
  const entries = list(content).length > 0 ? list(content) : list(refusal);
  if (entries.length === 0) return undefined;
  return entries.map((entry) => {
    const { token, bytes, logprob } = record(entry);
    const known = typeof logprob === "number" && Number.isFinite(logprob) && logprob > leastLogprob;
    return { text: tokenText(token, bytes), logprob: known ? logprob : undefined };
  });
}

function tokenText(token: unknown, bytes: unknown): string {
  const sent = list(bytes).filter((byte) => typeof byte === "number");
  if (sent.length > 0) return new TextDecoder().decode(Uint8Array.from(sent));
  return typeof token === "string" ? token.replace(/^token_id:/, "#") : "?";
}

/** Tokens of each line of a text that is at most so many characters wide, as their places: `[first, end]`. */
export function tokenLines(tokens: readonly Token[], width: number): (readonly [number, number])[] {
  const lines: (readonly [number, number])[] = [];
  let [first, used] = [0, 0];
  for (const [index, { text }] of tokens.entries()) {
    const size = Math.min(width, text.length + 1);
    if (used > 0 && used + size > width) {
      lines.push([first, index]);
      [first, used] = [index, 0];
    }
    used += size;
  }
  if (first < tokens.length) lines.push([first, tokens.length]);
  return lines;
}
