import type { ChangeHub } from "../changes/change-hub.js";
import type { Engine } from "../engine/engine.js";
import type { VersionClock } from "../version-clock.js";
import type { IngestState } from "./memory/state.js";

/** What everything that changes calls works with. */
export interface IngestContext {
  engine: Engine;
  clock: VersionClock;
  state: IngestState;
  changes: ChangeHub;
  now: () => bigint;
  /** With what the names of this store's inserts begin, whichever process sends them; a part of an SQL text. */
  writer: string;
  /** Called with one sentence for stored data that is given up because it cannot be read. */
  onLoss?: ((lost: string) => void) | undefined;
  /** Called with one sentence about work on a large store that takes long. */
  onProgress?: ((progress: string) => void) | undefined;
}
