import type { HeddleError } from "@heddle/errors";
import { requireSendable } from "./message-size.js";
import type { ChildMessage, Methods, ParentMessage } from "./protocol.js";
import { aborted } from "./until-aborted.js";
import { fromWireError } from "@heddle/concurrency";

export interface CallOptions<Event> {
  /**
   * An abort is forwarded to the child. The call settles with the child's response, so the state of the child is known.
   */
  signal?: AbortSignal;
  /** An error that it throws aborts the call, which rejects with that error. */
  onEvent?: (event: Event) => void;
}

export type Call<M extends Methods<M>> = <K extends keyof M & string>(
  method: K,
  params: M[K]["params"],
  options?: CallOptions<M[K]["event"]>,
) => Promise<M[K]["result"]>;

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
  onEvent(event: unknown): void;
}

/** The parent's table of calls to which a child has not responded. */
export function pendingCalls(send: (message: ParentMessage, bytes?: number) => void): {
  call(method: string, params: unknown, options?: CallOptions<never>): Promise<unknown>;
  receive(message: ChildMessage): void;
  /** Asks the child to abort all calls. */
  abort(): void;
  /** Rejects all pending and all later calls. */
  end(error: HeddleError): void;
} {
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let ended: HeddleError | undefined;

  return {
    async call(method, params, { signal, onEvent } = {}) {
      if (signal?.aborted) throw aborted();
      if (ended) throw ended;
      const bytes = requireSendable(params);
      const id = ++lastId;
      const abort = (): void => send({ type: "abort", id });
      let thrown: { error: unknown } | undefined;
      try {
        signal?.addEventListener("abort", abort, { once: true });
        return await new Promise((resolve, reject) => {
          pending.set(id, {
            resolve,
            reject,
            onEvent(event) {
              if (thrown) return;
              try {
                onEvent?.(event as never);
              } catch (error) {
                thrown = { error };
                abort();
              }
            },
          });
          send({ type: "call", id, method, params }, bytes);
        });
      } catch (error) {
        throw thrown ? thrown.error : error;
      } finally {
        pending.delete(id);
        signal?.removeEventListener("abort", abort);
      }
    },
    receive(message) {
      if (message.type === "events") {
        for (const { id, events } of message.calls) for (const event of events) pending.get(id)?.onEvent(event);
        return;
      }
      const call = pending.get(message.id);
      if (message.type === "result") call?.resolve(message.value);
      else call?.reject(fromWireError(message.error));
    },
    abort() {
      for (const id of pending.keys()) send({ type: "abort", id });
    },
    end(error) {
      ended = error;
      for (const call of pending.values()) call.reject(error);
    },
  };
}
