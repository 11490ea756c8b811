/** Returns a page in the envelope of the training interface. */
export function wirePage<Item extends { id: string }>(data: Item[], hasMore: boolean) {
  return {
    object: "list" as const,
    data,
    first_id: data[0]?.id ?? "",
    last_id: data.at(-1)?.id ?? "",
    has_more: hasMore,
  };
}
