import { returnThread, takeThread } from "./packer-threads.js";
import type { PackerThread } from "./packer-threads.js";
import { TrajectoryPacker } from "./trajectory-packer.js";
import type { RlRequestHeader } from "./trajectory-packer.js";

/** Beyond so many bytes, a body is validated in a thread of its own. */
const inlineBytes = 256 * 1024;

/**
 * Validates the body of an RL job as it arrives, and yields its trajectories in the form in which they are stored. Large
 * bodies do not delay other requests. `header` is called with the rest of the request before the end; an error of it ends
 * the stream. Throws the Problem that the request gets.
 */
export async function* packTrajectories(
  stream: AsyncIterable<Uint8Array>,
  header: (header: RlRequestHeader) => Promise<void>,
): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  let thread: PackerThread | undefined;
  try {
    for await (const chunk of stream) {
      bytes += chunk.length;
      if (bytes <= inlineBytes) held.push(chunk);
      else {
        thread ??= await takeThread();
        for (const each of [...held, chunk]) yield await thread.push(each);
        held = [];
      }
    }
    if (thread === undefined) {
      const packer = new TrajectoryPacker();
      const lines = held.map((chunk) => packer.push(chunk));
      await header(packer.finish());
      yield* lines;
    } else await header(await thread.finish());
  } finally {
    if (thread !== undefined) await returnThread(thread);
  }
}
