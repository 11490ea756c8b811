import type { Span } from "./span.js";
import { startSpan } from "./span.js";
import { mergeChunk } from "./openai-chunks.js";
import type { AnyIterator } from "./streams.js";
import { firstEnd, observeIterator } from "./streams.js";

type Json = Record<string, unknown>;
type Create = (body: Json, ...rest: unknown[]) => unknown;

/** A promise of the library: what it makes of the response is parsed when it is asked for. */
interface LazyPromise extends Promise<unknown> {
  responsePromise?: Promise<unknown>;
  parseResponse?: (...args: unknown[]) => unknown;
}

interface OpenStream {
  iterator?: () => AnyIterator;
  [Symbol.asyncIterator]?: () => AnyIterator;
}

const wrapped = new WeakSet<object>();

/**
 * Records the requests of a client of the `openai` package: chat completions, responses and embeddings, with inputs, output,
 * model and usage, streams too. It is the same client, changed in place.
 */
export function wrapOpenAI<Client extends object>(client: Client): Client {
  for (const path of ["chat.completions", "responses", "embeddings"]) {
    let resource: unknown = client;
    for (const name of path.split(".")) resource = (resource as Json | undefined)?.[name];
    const target = resource as { create?: Create } | undefined;
    const create = target?.create;
    if (!target || typeof create !== "function" || wrapped.has(target)) continue;
    wrapped.add(target);
    target.create = (body, ...rest) => recorded(path, (sent) => create.call(target, sent, ...rest), body);
  }
  return client;
}

function recorded(path: string, create: (body: Json) => unknown, body: Json): unknown {
  const span = startSpan(`openai.${path}.create`, body);
  const streams = body?.["stream"] === true;
  /** The usage of a stream comes in one more chunk, if it is asked for; who did not ask does not see it. */
  const asks = path === "chat.completions" && streams && body["stream_options"] === undefined;
  const see = (value: unknown) => {
    if (streams && typeof value === "object" && value !== null) watch(value, span, body["model"], asks);
    else end(span, value, body?.["model"]);
    return value;
  };
  const fail = (error: unknown) => span.fail(error);
  try {
    const promise = span.run(() =>
      create(asks ? { ...body, stream_options: { include_usage: true } } : body),
    ) as LazyPromise;
    const { parseResponse, responsePromise } = promise;
    if (parseResponse && responsePromise) {
      promise.parseResponse = async (...args) => {
        try {
          return see(await parseResponse.apply(promise, args));
        } catch (error) {
          fail(error);
          throw error;
        }
      };
      // Ended at once for those who read the response themselves; what is parsed later replaces it.
      responsePromise.then(() => span.end("[response]"), fail);
    } else promise.then(see, fail);
    return promise;
  } catch (error) {
    fail(error);
    throw error;
  }
}

function watch(stream: OpenStream, span: Span, model: unknown, isHiding: boolean): void {
  const output: Json = {};
  const once = firstEnd();
  const open = stream.iterator ?? stream[Symbol.asyncIterator];
  if (typeof open !== "function") return end(span, stream, model);
  const observed = () =>
    observeIterator(open.call(stream), span, {
      item: (chunk) => mergeChunk(output, chunk as Json),
      end: () => once(() => end(span, output, model)),
      fail: (error) => once(() => span.fail(error)),
      isHidden: (chunk) =>
        isHiding && (chunk as { choices?: unknown[] }).choices?.length === 0 && "usage" in (chunk as Json),
    });
  if (stream.iterator) stream.iterator = observed;
  else stream[Symbol.asyncIterator] = observed;
}

function end(span: Span, value: unknown, asked: unknown): void {
  const { model, usage, data } = (value ?? {}) as { model?: string; usage?: Json; data?: unknown };
  const output = Array.isArray(data)
    ? { ...(value as Json), data: data.map((row: Json) => ({ ...row, embedding: sizeOf(row["embedding"]) })) }
    : value;
  span.end(output, usage ? { usage: { [model || String(asked)]: { requests: 1, ...usage } } } : {});
}

const sizeOf = (embedding: unknown) => (Array.isArray(embedding) ? `[${embedding.length} numbers]` : embedding);
