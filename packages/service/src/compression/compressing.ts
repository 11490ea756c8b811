import { FairQueue, FairShare } from "@heddle/concurrency";
import type { Release, Sharer } from "@heddle/concurrency";

/** Chunks that are compressed at once, of the four threads that Node has for files, names and zlib. */
const mostAtOnce = 2;
const mostResponses = 256;
/** Of one: the state of the encoder, a slice of text that is compressed, one that waits, and what comes of them. */
const responseBytes = 524_288;
/** The most that all take in memory. */
export const compressionBytes = mostResponses * responseBytes;
const tooMany = "too many responses are compressed";

const waiting = new FairQueue<() => Promise<void>>();
let running = 0;

/**
 * Responses that are compressed at once, each of which takes memory until it is sent. Whoever has more of them open gets the
 * others as they are.
 */
const open = new FairShare({
  capacity: mostResponses,
  perKey: mostResponses / 4,
  perEntity: mostResponses / 2,
  messages: { key: tooMany, entity: tooMany, all: tooMany },
});

/** Undefined where the key has its share of responses that are compressed. */
export function beginCompressing(sharer: Sharer | undefined): Release | undefined {
  return open.tryAcquire(sharer, 1);
}

/** Compresses a chunk when it is the turn of the sharer, who has used the threads the least. */
export async function compressInTurn<T>(sharer: Sharer | undefined, compress: () => Promise<T>): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    waiting.add(sharer, () => compress().then(resolve, reject));
    startNext();
  });
}

function startNext(): void {
  while (running < mostAtOnce) {
    const turn = waiting.take();
    if (turn === undefined) return;
    running += 1;
    const began = performance.now();
    void turn.item().finally(() => {
      running -= 1;
      turn.end(performance.now() - began);
      startNext();
    });
  }
}
