/** What an address says of the list of queues. */
export interface QueuesSearch {
  /** The queue under the cursor. */
  at?: string | undefined;
  dialog?: "new" | undefined;
}

export function readQueuesSearch({ at, dialog }: Record<string, unknown>): QueuesSearch {
  return {
    ...(typeof at === "string" && at !== "" && { at: at.slice(0, 256) }),
    ...(dialog === "new" && { dialog }),
  };
}

/** What an address says of the work on a queue: the item at hand. */
export const readWorkSearch = ({ item }: Record<string, unknown>): { item?: string | undefined } =>
  typeof item === "string" && item !== "" ? { item: item.slice(0, 256) } : {};
