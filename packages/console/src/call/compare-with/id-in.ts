/** The id of a call in what somebody gives for it: the id, the address of its page here, or its ref. */
export function idIn(given: string): string {
  const text = given.trim();
  const found = /\/(?:calls|call)\/([^/?#]+)\/?(?:[?#].*)?$/.exec(text)?.[1];
  if (found === undefined) return text;
  const span = /[?&]span=([^&#]+)/.exec(text)?.[1];
  return decoded(span?.replaceAll("+", " ") ?? found);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
