import type { TestService } from "../test-service.js";

export interface Page<Item> {
  object: string;
  data: Item[];
  first_id: string;
  last_id: string;
  has_more: boolean;
}

/** Reads one page as it is sent: the generated client hands out items. Throws an error with the status and the body. */
export async function readPage<Item>(
  service: TestService,
  path: string,
  query: Record<string, string | number> = {},
): Promise<Page<Item>> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) search.set(name, String(value));
  const response = await service.fetch(`http://in-process${path}?${search.toString()}`, {
    headers: { authorization: `Bearer ${service.owner_key}` },
  });
  const body: unknown = await response.json();
  if (response.ok) return body as Page<Item>;
  throw Object.assign(new Error(`status ${response.status}`), { status: response.status, body });
}
