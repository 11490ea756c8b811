import { createServer } from "@heddle/server-stub";
import { toFetch } from "@heddle/server-stub/fetch";
import { calls } from "@heddle/server-stub/tracing/calls";
import { handlers, options } from "./calls.js";

export default { fetch: toFetch(createServer([calls(handlers)], options)) };
