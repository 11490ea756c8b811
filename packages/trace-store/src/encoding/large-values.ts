import { FairThreads, mainThread } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";
import type { JsonText } from "@heddle/exact-json";
import { unpackCall } from "./encode-call.js";
import type { CallSides, EncodedCall } from "./encode-call.js";
import type { TableRowText } from "./encode-row.js";
import type { EncodedValue, SentValue } from "./encode-value.js";
import type { EncodingTasks } from "./encoding-thread.js";
import { inPieces } from "./text-pieces.js";
import type { Pieced } from "./text-pieces.js";

/**
 * Texts of so many characters together are encoded in a thread: looking for what the engine cannot read takes up to 100 ns
 * for each. What is shorter costs less than sending it there.
 */
const largeText = 128 * 1024;

export const isLarge = (...texts: ReadonlyArray<JsonText | undefined>): boolean =>
  texts.reduce((sum, text) => sum + (text?.length ?? 0), 0) > largeText;

/** Two: the second one serves others while the first is slow. */
const threads = 2;
/** A value of 33 MB with nothing but short keys takes most of it. */
const heapMb = 1536;
/** Far more than a value takes that a request can hold, on a machine that is busy. */
const timeMs = 120_000;
const waiting = { waitingPerKey: 1000, waiting: 10_000 };

const encoding = new FairThreads<EncodingTasks>({
  module: new URL("encoding-thread.ts", import.meta.url),
  threads,
  resourceLimits: { maxOldGenerationSizeMb: heapMb, stackSizeMb: 4 },
  ...waiting,
  messages: {
    key: `${waiting.waitingPerKey} large values of this key wait to be stored; try again later`,
    all: `${waiting.waiting} large values wait to be stored; try again later`,
  },
});

/** The most that the heaps of the threads take, in bytes. */
export const encodingThreadHeaps = (): number => encoding.heapBytes ?? 0;

/** Ends the threads that encode for nobody, and resolves when they are gone. */
export const endEncoding = async (): Promise<void> => await encoding.endUnused();

export const encodeLargeCall = async (sides: CallSides): Promise<EncodedCall> =>
  unpackCall(await inThread("call", sides));

export const encodeLargeValue = async (sent: SentValue): Promise<EncodedValue> =>
  await withField("val", inThread("value", sent));

export const digestOfLargeRow = async (row: JsonText): Promise<string> => await inThread("rowDigest", { row });

export const encodeLargeRow = async (text: TableRowText): Promise<Uint8Array> => await inThread("row", text);

type RequestOf<Sent> = Sent extends Pieced<infer Request> ? Request : never;

/** Throws what the task throws, and `too_large` for what a thread cannot hold. */
async function inThread<Name extends keyof EncodingTasks>(
  name: Name,
  request: RequestOf<Parameters<EncodingTasks[Name]>[0]>,
): Promise<Awaited<ReturnType<EncodingTasks[Name]>>> {
  const transfer: ArrayBuffer[] = [];
  const pieced = (await inPieces(request, transfer)) as Parameters<EncodingTasks[Name]>[0];
  return await encoding.run(name, pieced, { sharer: mainThread.sharer, timeMs, transfer });
}

/** Names the field that is too large. */
async function withField<T>(field: string, encoded: Promise<T>): Promise<T> {
  try {
    return await encoded;
  } catch (error) {
    if (!(error instanceof HeddleError) || error.code !== "too_large") throw error;
    throw new HeddleError("too_large", `the value ${error.message} to be stored`, { loc: [field], cause: error });
  }
}
