import { HeddleError } from "@heddle/errors";
import { FairShare } from "@heddle/concurrency";
import type { Release } from "@heddle/concurrency";
import { Problem } from "@heddle/server-stub";
import { readBodyPart } from "@heddle/server-stub/training";
import { currentScope } from "../limits/request-scope.js";
import type { RequestScope } from "../limits/request-scope.js";
import { TrainingDataLimit } from "../limits/training-data-limit.js";
import { packingThreads } from "./packing-threads.js";
import { packParts, rlOperation } from "./trajectory-lines.js";
import type { BodyPart, PackedParts } from "./trajectory-lines.js";
import { TrajectoryScanner } from "./trajectory-scanner.js";

/** The members of an RL request but its trajectories, as the spec describes them. */
export interface RlRequestHeader {
  model_id: string;
  experimental_config?: Record<string, unknown>;
}

/** Beyond so many bytes, a body is validated in a thread. */
const inlineBytes = 256 * 1024;
/** So much of the body is looked at without other work in between. */
const sliceBytes = 64 * 1024;
/** What takes the texts of trajectories, as they were sent and in their order. */
export type KeepText = (text: Uint8Array) => Promise<void>;

/** For the validation of one slice, or of the trajectory that ends in it. */
const taskMs = 60_000;

/**
 * Validates the body of an RL job as it arrives, and yields its trajectories in the form in which they are stored. Large
 * bodies do not delay other requests. A trajectory takes from the working memory of the service while it is read.
 * `header` is called with the rest of the request before the end; an error of it ends the stream. Throws the Problem that
 * the request gets, and `too_large` for trajectories that take more than `most` bytes when the job reads them.
 */
export function packTrajectories(
  stream: AsyncIterable<Uint8Array>,
  header: (header: RlRequestHeader) => Promise<void>,
  most: number,
  keepText?: KeepText,
): AsyncGenerator<Uint8Array> {
  return pack(stream, header, { memory: new TrajectoryMemory(currentScope()), most, keepText });
}

async function* pack(
  stream: AsyncIterable<Uint8Array>,
  header: (header: RlRequestHeader) => Promise<void>,
  { memory, most, keepText }: { memory: TrajectoryMemory; most: number; keepText: KeepText | undefined },
): AsyncGenerator<Uint8Array> {
  const body = new ScannedBody();
  const data = new TrainingDataLimit(most);
  /** Parts of a small body: nothing is stored before its header is accepted. */
  const held: BodyPart[] = [];
  let bytes = 0;
  const keep = async (parts: readonly BodyPart[]): Promise<void> => {
    if (keepText === undefined) return;
    for (const part of parts) {
      if (part.kind !== "trajectory") continue;
      for (const text of part.trajectory.parts) await keepText(text);
    }
  };
  try {
    for await (const chunk of stream) {
      for (let at = 0; at < chunk.length; at += sliceBytes) {
        const slice = chunk.subarray(at, at + sliceBytes);
        bytes += slice.length;
        body.push(slice);
        await memory.hold(body.memory);
        held.push(...body.take());
        if (bytes <= inlineBytes || held.length === 0) continue;
        const parts = held.splice(0);
        yield linesOf(await memory.inThread(parts), data);
        await keep(parts);
        memory.release();
      }
    }
    const lines = linesOf(packParts(held), data);
    await header(body.finish());
    yield lines;
    await keep(held);
  } finally {
    memory.release();
  }
}

function linesOf(packed: PackedParts, data: TrainingDataLimit): Uint8Array {
  if ("lines" in packed) {
    data.add(packed.memory);
    return packed.lines;
  }
  const { status, message, details } = packed.problem;
  throw details === undefined ? new Problem(status, message) : Problem.invalid(details);
}

/** Cuts a body into parts, each with its location. */
class ScannedBody {
  readonly #scanner: TrajectoryScanner;
  readonly #members: string[] = [];
  #parts: BodyPart[] = [];
  #group = 0;
  #trajectory = 0;
  #isEmpty = true;

  constructor() {
    this.#scanner = new TrajectoryScanner({
      trajectory: (trajectory) =>
        void this.#parts.push({ kind: "trajectory", group: this.#group, index: this.#trajectory++, trajectory }),
      group: (members) => {
        this.#parts.push({ kind: "group", group: this.#group++, members });
        // A group without trajectories is one of failed rollouts, or counts for nothing.
        this.#isEmpty &&= this.#trajectory === 0 && !members.text.includes('"exceptions"');
        this.#trajectory = 0;
      },
      other: (text) => void this.#parts.push({ kind: "other", group: this.#group, text }),
      noObject: (text) => void readBodyPart(rlOperation, text),
      member: (key, text) => void this.#members.push(`${JSON.stringify(key)}:${text}`),
    });
  }

  /** Of the trajectory that is read. */
  get memory(): number {
    return this.#scanner.memory;
  }

  push(chunk: Uint8Array): void {
    this.#scanner.push(chunk);
  }

  /** Returns the parts that are complete, once. */
  take(): BodyPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  /** Returns the rest of the request, after its last chunk. */
  finish(): RlRequestHeader {
    this.#scanner.end();
    const groups = this.#scanner.hasGroups ? ['"trajectory_groups":[]'] : [];
    const header = readBodyPart(rlOperation, `{${[...this.#members, ...groups].join(",")}}`);
    if (this.#group > 0 && this.#isEmpty) {
      const loc = ["body", "trajectory_groups", 0, "trajectories"];
      throw Problem.invalid([
        { loc, msg: "no group has a trajectory, and no exception says why", type: "value_error" },
      ]);
    }
    const { model_id, experimental_config } = header as RlRequestHeader;
    return { model_id, ...(experimental_config !== undefined && { experimental_config }) };
  }
}

/** A trajectory that takes more memory is large. */
const largeBytes = 1024 * 1024;

/** Requests of one key read large trajectories one after another: two that both wait for the other's memory would fail. */
const largeTrajectories = new FairShare({
  capacity: Number.MAX_SAFE_INTEGER,
  perKey: 1,
  messages: {
    key: "Another request of this key sends a large trajectory",
    entity: "Another request of this entity sends a large trajectory",
    all: "Too many requests send large trajectories",
  },
});

/** What the trajectories that are being read take of the working memory. */
class TrajectoryMemory {
  readonly #scope: RequestScope | undefined;
  readonly #releases: Release[] = [];
  #held = 0;

  constructor(scope: RequestScope | undefined) {
    this.#scope = scope;
  }

  /** Reserves memory until the trajectory is stored. Throws `too_large` for more than a key can have at all. */
  async hold(bytes: number): Promise<void> {
    if (this.#scope === undefined || bytes <= this.#held) return;
    const { most } = this.#scope;
    if (bytes > most) {
      throw new HeddleError(
        "too_large",
        `Request too large: one trajectory takes more than ${most} bytes of memory, all that the requests of one key may hold (half of HEDDLE_WORKING_MEMORY)`,
      );
    }
    const { sharer, signal } = this.#scope;
    if (bytes > largeBytes && this.#held <= largeBytes) {
      this.#releases.push(await largeTrajectories.acquire(sharer, 1, signal));
    }
    this.#releases.push(await this.#scope.hold(bytes - this.#held));
    this.#held = bytes;
  }

  async inThread(parts: readonly BodyPart[]): Promise<PackedParts> {
    const { sharer, signal } = this.#scope ?? {};
    try {
      return await packingThreads.run("pack", parts, { sharer, signal, timeMs: taskMs });
    } catch (error) {
      if (!(error instanceof HeddleError) || error.code !== "too_large") throw error;
      throw new HeddleError("too_large", `Request too large: one trajectory ${error.message}`, { cause: error });
    }
  }

  release(): void {
    for (const release of this.#releases.splice(0)) release();
    this.#held = 0;
  }
}
