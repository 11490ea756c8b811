import { CheckFailure, CheckSkipped } from "../exchange.js";
import type { Exchange } from "../exchange.js";
import type { Operation } from "../contract.js";
import { judgeable } from "../judgeable.js";
import { checkResponse } from "../response-check.js";
import type { Fixture } from "../fixture.js";
import type { Case } from "./check.js";

interface Chunk {
  id?: string;
  choices: { index: number; delta?: Record<string, unknown>; finish_reason?: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number } | null;
}

/** A streamed completion says how each choice ended, and what it took. */
export function completionCases(operation: Operation, fixture: Fixture): Case[] {
  if (operation.id !== "createChatCompletion") return [];
  let first: Promise<{ chunks: Chunk[]; exchange: Exchange }> | undefined;
  const stream = () => (first ??= readStream(operation, fixture));
  return [
    { name: "end of each streamed choice", run: async () => expectEnds(await stream()) },
    { name: "usage at the end of a stream", run: async () => expectUsage(await stream()) },
  ];
}

async function readStream(operation: Operation, fixture: Fixture): Promise<{ chunks: Chunk[]; exchange: Exchange }> {
  const { params, body } = fixture.own.request(operation);
  const asked = { ...(body as object), stream: true, stream_options: { include_usage: true } };
  const exchange = judgeable(await fixture.send(operation, { params, body: asked }), operation, fixture);
  const chunks = checkResponse(operation, exchange, operation.schemas, [operation.success]);
  if (!Array.isArray(chunks)) throw new CheckSkipped("no stream although one was requested");
  return { chunks: chunks as Chunk[], exchange };
}

function expectEnds({ chunks, exchange }: { chunks: Chunk[]; exchange: Exchange }): void {
  const parts = chunks.flatMap(({ choices }) => choices);
  const choices = new Set(parts.map(({ index }) => index));
  if (choices.size === 0) throw new CheckFailure("no choice", { expected: "a choice in the stream", exchange });
  for (const choice of choices) {
    const ends = parts.filter(({ index }) => index === choice).map(({ finish_reason: reason }) => reason ?? undefined);
    const given = ends.filter((reason) => reason !== undefined);
    if (given.length === 1 && ends.at(-1) !== undefined) continue;
    const message = `choice ${choice}: ${given.length === 0 ? "no finish_reason" : `finish_reason ${given.join(", ")}`}`;
    throw new CheckFailure(message, {
      expected: "finish_reason in the last chunk of a choice, and there alone",
      exchange,
    });
  }
  if (new Set(chunks.map(({ id }) => id)).size > 1) {
    throw new CheckFailure("chunks of several ids", { expected: "one id in all chunks", exchange });
  }
}

function expectUsage({ chunks, exchange }: { chunks: Chunk[]; exchange: Exchange }): void {
  const usage = chunks.at(-1)?.usage;
  if (usage === undefined || usage === null) {
    throw new CheckFailure("no usage", { expected: "usage in the last chunk, as stream_options ask", exchange });
  }
  if (usage.total_tokens !== usage.prompt_tokens + usage.completion_tokens) {
    const expected = "total_tokens as the sum of prompt_tokens and completion_tokens";
    throw new CheckFailure(`total_tokens ${usage.total_tokens}`, { expected, exchange });
  }
}
