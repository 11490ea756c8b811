import { createTracingServer } from "@heddle/server-stub/tracing";
import { handlers, options } from "./calls.js";

export const server = createTracingServer({ calls: handlers }, options);
