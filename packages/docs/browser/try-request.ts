/** What a form says to send. */
export interface TryRequest {
  url: string;
  init: RequestInit;
}

/** Reads the form of an operation. `base` is the address of the service, without a slash at its end. */
export function readForm(section: HTMLElement, base: string): TryRequest {
  const { method = "GET", path = "/", body: kind, media = "" } = section.dataset;
  const headers = new Headers();
  const query = new URLSearchParams();
  let target = path;
  for (const input of section.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("[data-in]")) {
    const { name } = input;
    const values = input.matches("textarea:not([name=body])") ? input.value.split("\n") : [input.value];
    for (const value of values.filter((text) => text !== "")) {
      if (input.dataset["in"] === "path") target = target.replace(`{${name}}`, encodeURIComponent(value));
      else if (input.dataset["in"] === "query") query.append(name, value);
      else if (input.dataset["in"] === "header") headers.set(name, value);
    }
  }
  const key = section.querySelector<HTMLInputElement>("[name=key]")?.value;
  if (key) headers.set("authorization", `Bearer ${key}`);
  const body = readBody(section, kind);
  if (kind === "json") headers.set("content-type", "application/json");
  else if (kind === "bytes") headers.set("content-type", media);
  const search = query.size === 0 ? "" : `?${query}`;
  // Nothing that the browser has cached is sent, and it does not ask for a password itself.
  return {
    url: base + target + search,
    init: { method, headers, credentials: "omit", ...(body !== undefined && { body }) },
  };
}

function readBody(section: HTMLElement, kind: string | undefined): BodyInit | undefined {
  const field = section.querySelector<HTMLInputElement | HTMLTextAreaElement>("[data-in=body]");
  if (kind === "json") return field?.value;
  if (kind === "bytes") return (field instanceof HTMLInputElement && field.files?.[0]) || new Blob([]);
  if (kind !== "multipart") return undefined;
  const form = new FormData();
  for (const part of section.querySelectorAll<HTMLInputElement>("[data-in=part]")) {
    const file = part.files?.[0];
    if (file !== undefined) form.append(part.name, file);
    else if (part.type !== "file" && part.value !== "") form.append(part.name, part.value);
  }
  return form;
}
