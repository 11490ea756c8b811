/** One page of a cursor list. */
export interface CursorPage<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
}

/**
 * All items of a cursor list, page by page, each page asked for when it is needed.
 * The cursor is the id of the last item seen; it is the service's promise that nothing repeats after it.
 */
export async function* readPages<Item extends { id: string }, Query extends { after?: string | null }>(
  readPage: (query: Query) => Promise<CursorPage<Item>>,
  query: Query | undefined,
): AsyncGenerator<Item, void, undefined> {
  for (let after = query?.after; ;) {
    const { data, has_more } = await readPage({ ...query, after } as Query);
    yield* data;
    const last = data.at(-1);
    if (!has_more || !last) return;
    after = last.id;
  }
}
