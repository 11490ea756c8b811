import type { EventsMessage } from "./protocol.js";

export interface CollectedEvents {
  /** Resolves when the event has been sent. */
  emit: (id: number, event: unknown) => Promise<void>;
  /** Sends what was collected, before a call's result for example. */
  flush: () => void;
}

/** Collects the events that all calls emit in one event loop iteration into one message. */
export function collectEvents(sendMessage: (message: EventsMessage) => Promise<void>): CollectedEvents {
  let collected = new Map<number, unknown[]>();
  let sent = Promise.resolve();
  let send = (_sending: Promise<void>): void => {};
  const flush = (): void => {
    if (collected.size === 0) return;
    const calls = [...collected].map(([id, events]) => ({ id, events }));
    collected = new Map();
    send(sendMessage({ type: "events", calls }));
  };
  const emit = (id: number, event: unknown): Promise<void> => {
    if (collected.size === 0) {
      sent = new Promise((resolve) => (send = resolve));
      setImmediate(flush);
    }
    const events = collected.get(id);
    if (events === undefined) collected.set(id, [event]);
    else events.push(event);
    return sent;
  };
  return { emit, flush };
}
