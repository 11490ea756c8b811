import { SharedItems } from "@heddle/server-stub";
import type { ResponseSchemas } from "@heddle/server-stub/tracing";
import type { TailBatch, TailEvent } from "@heddle/trace-store";
import { wireCallRow } from "./call-row.js";

type WireEvent = ResponseSchemas["CallTailEvent"];
type Shared = SharedItems<WireEvent | Uint8Array>;
/** Looks up the name of a user, where names were asked for. */
type NameOf = (userId: string) => Promise<string | undefined>;

/** Batches that readers are sent now, made once for all who are sent the same in the same form. */
export class SharedBatches {
  readonly #events = new WeakMap<TailBatch, Promise<Shared>>();
  readonly #lines = new WeakMap<TailBatch, Promise<Shared>>();

  /** `isEvents`: as server-sent events, with the ids after which a client goes on. */
  async of(batch: TailBatch, isEvents: boolean, nameOf: NameOf): Promise<Shared> {
    const known = isEvents ? this.#events : this.#lines;
    let shared = known.get(batch);
    if (shared === undefined) {
      shared = wireBatch(batch, isEvents, nameOf);
      known.set(batch, shared);
    }
    return await shared;
  }
}

async function wireBatch({ items }: TailBatch, isEvents: boolean, nameOf: NameOf): Promise<Shared> {
  const wire: Array<WireEvent | Uint8Array> = [];
  for (const { event, isComplete } of items) {
    // A client goes on after the last event with an id: up to that one it has everything.
    if (isEvents && isComplete) wire.push(Buffer.from(`id: ${event.seq}\n`));
    wire.push(await wireTailEvent(event, nameOf));
  }
  return new SharedItems(wire);
}

/** An event of a tail as the wire shows it. */
async function wireTailEvent(event: TailEvent, nameOf: NameOf): Promise<WireEvent> {
  const { kind } = event;
  const seq = String(event.seq);
  if (kind === "caught_up") return { seq, kind };
  if (kind === "gap") return { seq, kind, from: String(event.from) };
  const { id, feedback_id, call } = event;
  const name = call?.user_id === undefined ? undefined : await nameOf(call.user_id);
  return {
    seq,
    kind,
    id,
    ...(feedback_id !== undefined && { feedback_id }),
    ...(call && { call: wireCallRow(call, name) }),
  };
}
