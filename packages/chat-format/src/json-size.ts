/** Whether a JSON value has more than `limit` characters and elements together. Reads no more of it than that. */
export function isLarger(value: unknown, limit: number): boolean {
  let left = limit;
  const pending: unknown[] = [value];
  while (pending.length > 0) {
    const next = pending.pop();
    left -= typeof next === "string" ? next.length + 1 : 1;
    if (left < 0) return true;
    if (typeof next !== "object" || next === null) continue;
    const items: unknown[] = Array.isArray(next) ? next : Object.entries(next).flat();
    if (items.length > left) return true;
    for (const item of items) pending.push(item);
  }
  return false;
}
