import type { components } from "@heddle/spec/tracing";

/** The shapes of the tracing API, as the spec describes them. */
export type ApiSchemas = components["schemas"];
