import { deserialize, serialize } from "node:v8";
import { HeddleError } from "@heddle/errors";
import type { HeddleErrorOptions } from "@heddle/errors";
import type { Sharer } from "@heddle/concurrency";

/** Where replicas call the stores of each other; followed by the name of the shard. */
export const storePath = "/heddle-replica/shards/";
/** Of a response: nothing was done, because this replica does not have the shard, or the project is not in it. */
export const notHereHeader = "heddle-not-here";

/** A call of a method of a store. Replicas of one installation have the same major version of Node.js. */
export interface StoreCall {
  name: string;
  args: unknown[];
  /** The argument that has options; those that cannot be sent are missing. */
  optionsAt: number | undefined;
  /** Whose turn it takes at the other replica. */
  sharer: Sharer | undefined;
}

export const encodeCall = (call: StoreCall): Buffer => serialize(call);

/** Undefined for what a replica of another version of this program, or of Node.js, sends and this one cannot read. */
export function decodeCall(bytes: Uint8Array): StoreCall | undefined {
  try {
    const call = deserialize(bytes) as Partial<StoreCall> | undefined;
    return typeof call?.name === "string" && Array.isArray(call.args) ? (call as StoreCall) : undefined;
  } catch {
    return undefined;
  }
}

/** Nothing was done, or read. It goes away when an update that is on its way has come to all replicas. */
export const otherVersion = (): HeddleError =>
  new HeddleError(
    "busy",
    "The replica that works on this project is of another version than the one that was asked, and they cannot do this together: run the same version at all of them",
  );

/** What a response consists of: values, each with its length before it, and how it ended. */
const kinds = { value: 0, end: 1, error: 2 } as const;
const headLength = 5;

export function frameOf(kind: keyof typeof kinds, value?: unknown): Buffer {
  const content = kind === "end" ? Buffer.alloc(0) : serialize(value);
  const head = Buffer.allocUnsafe(headLength);
  head.writeUInt8(kinds[kind], 0);
  head.writeUInt32LE(content.length, 1);
  return Buffer.concat([head, content]);
}

export function errorFrame(error: unknown): Buffer {
  if (!(error instanceof HeddleError)) return frameOf("error", { message: String(error) });
  const { code, message, loc, details, cause } = error;
  const reason = cause instanceof Error ? cause.message : undefined;
  return frameOf("error", { code, message, loc, details, cause: reason });
}

interface SentError extends Omit<HeddleErrorOptions, "cause"> {
  cause?: string;
  code?: HeddleError["code"];
  message: string;
}

function errorOf({ code, message, cause, ...options }: SentError): Error {
  if (code === undefined) return new Error(`at another replica: ${message}`);
  return new HeddleError(code, message, {
    ...options,
    ...(cause !== undefined && { cause: new Error(cause) }),
  });
}

/** The connection ended before the response did. */
export class CutOff extends Error {
  override readonly name = "CutOff";
}

/**
 * The values of a response, one by one; `before` is called with the length of each, before it is decoded. Throws what the
 * other replica has thrown, and {@link CutOff}.
 */
export async function* readFrames(
  chunks: AsyncIterable<Buffer>,
  before: (bytes: number) => Promise<() => void>,
): AsyncGenerator<unknown, void, undefined> {
  let rest: Buffer = Buffer.alloc(0);
  const waiting: Buffer[] = [];
  let length = 0;
  let wanted = headLength;
  let isEnded = false;
  for await (const chunk of chunks) {
    // To its end, so that the connection can be used again.
    if (isEnded) continue;
    waiting.push(chunk);
    length += chunk.length;
    if (length < wanted) continue;
    rest = waiting.length === 1 ? chunk : Buffer.concat(waiting);
    waiting.length = 0;
    for (;;) {
      if (rest.length < headLength) {
        wanted = headLength;
        break;
      }
      const end = headLength + rest.readUInt32LE(1);
      if (rest.length < end) {
        wanted = end;
        break;
      }
      const kind = rest.readUInt8(0);
      if (kind === kinds.end) {
        isEnded = true;
        break;
      }
      const content = rest.subarray(headLength, end);
      if (kind === kinds.error) throw errorOf(deserialize(content) as SentError);
      if (kind !== kinds.value) throw otherVersion();
      const release = await before(content.length);
      try {
        yield deserialize(content);
      } finally {
        release();
      }
      rest = rest.subarray(end);
    }
    length = rest.length;
    if (length > 0) waiting.push(rest);
  }
  if (!isEnded) throw new CutOff("the response was cut off");
}
