/** An HTTP method as a mark before a title or a path. */
export function methodBadge(method: string): string {
  const name = method.toUpperCase();
  return `<span class="badge ${name.toLowerCase()}">${name}</span>`;
}
