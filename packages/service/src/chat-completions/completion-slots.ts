import { FairShare } from "@heddle/concurrency";

/** What requests share. */
export interface SlotLimits {
  /** Choices that are generated at the same time. */
  slots: number;
  /** Requests of one key that wait. */
  waitingPerKey: number;
}

/** Clients of the OpenAI API wait this long for a response; beyond it nobody reads it. */
const longestWaitMs = 600_000;
/** The text that clients of other services know. */
const reached = "Concurrency limit reached for requests";

/** Choices that are generated at the same time: one key has at most half of them, one entity three quarters. */
export function openCompletionSlots({ slots, waitingPerKey }: SlotLimits): FairShare {
  const perKey = Math.max(1, Math.floor(slots / 2));
  return new FairShare({
    capacity: slots,
    perKey,
    perEntity: Math.max(1, Math.floor(slots * 0.75)),
    waitingPerKey,
    timeoutMs: longestWaitMs,
    messages: {
      key: `${reached}: this key has its share of the ${slots} choices that are generated at once (HEDDLE_COMPLETION_SLOTS), and ${waitingPerKey} of its requests may wait (HEDDLE_COMPLETIONS_WAITING)`,
      entity: `${reached}: the keys of this entity have their share of the ${slots} choices that are generated at once (HEDDLE_COMPLETION_SLOTS)`,
      all: `${reached}: the ${slots} choices that are generated at once (HEDDLE_COMPLETION_SLOTS) are taken`,
    },
  });
}
