import type { Engine } from "./engine.js";
import { StoreError } from "./errors.js";

/**
 * An engine that writes only while `mayWrite` says so, asked at the moment of each statement. A write that is refused
 * in the middle of a commit leaves an unknown outcome like any other: ingest recovers before it writes again.
 *
 * What a process handed over an instant before it was stopped can still arrive late; the pass that ingest makes every
 * minute over what was received since the last one mends what that doubles.
 */
export function guardWrites(engine: Engine, mayWrite: () => boolean): Engine {
  const check = () => {
    if (!mayWrite()) {
      throw new StoreError("busy", "This service cannot tell whether it is still the only one that writes");
    }
  };
  return {
    ...engine,
    async insert(table, columns, rows) {
      check();
      await engine.insert(table, columns, rows);
    },
    async command(statement, options) {
      check();
      await engine.command(statement, options);
    },
  };
}
