import type { ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { WriterEpochs } from "@heddle/trace-store";

/** The numbers of the writers of a tracing database, and what they say of its restores. */
export interface ShardEpochs extends WriterEpochs {
  /**
   * One sentence where the database was restored to an earlier state than the control plane knows. `newest` is the version
   * of the last change that is stored there, in microseconds.
   */
  lostIn(newest: bigint): string | undefined;
}

/**
 * A control plane that was restored to an earlier state than the tracing database is refused as `incompatible`, or told to
 * `onOlder`.
 */
export function writerEpochs(
  { writerEpochs: noted }: Pick<ControlPlane, "writerEpochs">,
  shard: string,
  onOlder?: (lost: string) => void,
): ShardEpochs {
  let isBehind = false;
  return {
    async next(seen) {
      const { given, stored } = await noted.of(shard);
      if (seen > given) {
        const older = `The database of keys and projects was restored to an earlier state than the tracing database ${shard} has`;
        if (onOlder === undefined) {
          throw new HeddleError(
            "incompatible",
            `${older}: restore a later one, or say "heddle shards accept" to go on with it`,
          );
        }
        onOlder(`${older}: keys and projects that were made since are not there`);
        await noted.advanceTo(shard, seen);
      }
      isBehind ||= seen < stored;
      return await noted.next(shard);
    },
    async onStored(epoch) {
      await noted.noteStored(shard, epoch);
    },
    lostIn(newest) {
      if (!isBehind) return undefined;
      const last = new Date(Number(newest / 1000n)).toISOString();
      return `The tracing database was restored to an earlier state: what was stored after ${last} is not there`;
    },
  };
}
