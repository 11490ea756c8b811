import type { ClickHouseClient } from "@clickhouse/client";

/** Seconds that the engine has been up, and when that was asked, by the clock of this process. */
interface Uptime {
  seconds: number;
  askedMs: number;
}

/** A process that is younger could be mistaken for the one that it replaced. */
const leastSeconds = 3;

/** Tells whether the engine is still the process that it was. */
export interface EngineProcess {
  /** To be called before what may have to be repeated. */
  notice(): Promise<void>;
  /** True only when the process that was noticed last responds, and was not replaced meanwhile. */
  isSame(): Promise<boolean>;
}

export function engineProcess(client: ClickHouseClient): EngineProcess {
  let noticed: Uptime | undefined;
  const ask = async (): Promise<Uptime> => {
    const askedMs = performance.now();
    const result = await client.query({ query: "SELECT toUInt32(uptime()) AS seconds", format: "JSONEachRow" });
    const [row] = await result.json<{ seconds: number }>();
    return { seconds: row?.seconds ?? 0, askedMs };
  };
  return {
    async notice() {
      if (noticed !== undefined) return;
      const uptime = await ask().catch(() => undefined);
      if (uptime !== undefined && uptime.seconds >= leastSeconds) noticed = uptime;
    },
    async isSame() {
      const before = noticed;
      // Whichever process it is now is noticed anew.
      noticed = undefined;
      if (before === undefined) return false;
      const now = await ask();
      // A new process has been up for no longer than the time since then.
      return now.seconds + 1 >= before.seconds + (now.askedMs - before.askedMs) / 1000;
    },
  };
}
