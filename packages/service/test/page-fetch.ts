/** Headers that a page may send without a preflight, and content types that need none. */
const simpleHeaders = new Set(["accept", "accept-language", "content-language", "content-type", "range"]);
const simpleTypes = /^(?:text\/plain|application\/x-www-form-urlencoded|multipart\/form-data)(?:;|$)/;
const simpleMethods = new Set(["GET", "HEAD", "POST"]);
/** Response headers that a page may read without being allowed to. */
const readableHeaders = new Set(["cache-control", "content-language", "content-length", "content-type", "expires"]);

/**
 * A `fetch` with the rules that the Fetch standard has for a page of `origin`: a preflight where one is needed, and no
 * response or header that the server does not share with the page. Like that of a browser, it fails with a TypeError.
 */
export function pageFetch(origin: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const page = { origin, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" };
    const unsafe = [...request.headers.keys()].filter((name) => !isSimple(name, request.headers)).toSorted();
    if (unsafe.length > 0 || !simpleMethods.has(request.method)) {
      const asked = {
        "access-control-request-method": request.method,
        ...(unsafe.length > 0 && { "access-control-request-headers": unsafe.join(",") }),
      };
      const response = await fetch(request.url, { method: "OPTIONS", headers: { ...page, ...asked } });
      await response.body?.cancel();
      checkShared(response, origin);
      const methods = listOf(response, "access-control-allow-methods");
      const headers = listOf(response, "access-control-allow-headers");
      if (!response.ok) throw new TypeError(`the preflight got ${response.status}`);
      if (!simpleMethods.has(request.method) && !methods.includes(request.method.toLowerCase()))
        throw new TypeError(`${request.method} is not allowed`);
      for (const name of unsafe) if (!headers.includes(name)) throw new TypeError(`${name} is not allowed`);
    }
    for (const [name, value] of Object.entries(page)) request.headers.set(name, value);
    const response = await fetch(request);
    checkShared(response, origin);
    const exposed = listOf(response, "access-control-expose-headers");
    const readable = [...response.headers].filter(
      ([name]) => readableHeaders.has(name) || exposed.includes("*") || exposed.includes(name),
    );
    return new Response(response.body, { status: response.status, headers: readable });
  };
}

function isSimple(name: string, headers: Headers): boolean {
  return simpleHeaders.has(name) && (name !== "content-type" || simpleTypes.test(headers.get(name) ?? ""));
}

function checkShared(response: Response, origin: string): void {
  if (response.headers.get("access-control-allow-origin") !== origin) throw new TypeError("Failed to fetch");
}

function listOf(response: Response, name: string): string[] {
  return (response.headers.get(name) ?? "").split(",").map((item) => item.trim().toLowerCase());
}
