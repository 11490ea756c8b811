import { toFetch } from "@heddle/server-stub/fetch";
import { createTracingServer } from "@heddle/server-stub/tracing";
import { handlers, options } from "./calls.js";

// Next keeps the whole path of a request.
const fetch = toFetch(createTracingServer({ calls: handlers }, { ...options, prefixes: ["/heddle"] }));

export { fetch as DELETE, fetch as GET, fetch as PATCH, fetch as POST, fetch as PUT };
