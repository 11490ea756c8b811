import { HeddleError } from "@heddle/errors";
import type { KeyedRoute } from "../http/route.js";
import { contextOf } from "./graphql-context.js";
import { runGraphql } from "./graphql-server.js";
import type { WandbServices } from "./wandb-services.js";
import type { Query } from "./graphql/document.js";

/** Of a body: wandb announces up to 10,000 files of an artifact in one. */
const limits = { maxBytes: 8 * 1024 * 1024, maxValues: 250_000 };

/** `POST /graphql`. */
export const graphqlRoute: KeyedRoute<{ services: WandbServices }> = {
  id: "graphql",
  paths: ["/graphql"],
  methods: ["POST"],
  access: { right: "read", project: "fields" },
  errors: "graphql",
  open:
    ({ services }) =>
    async ({ http, caller, json }) => {
      const query = queryOf(await json(limits));
      const body = await runGraphql(query, contextOf(services, caller, http));
      return { status: 200, headers: { "content-type": "application/json" }, body };
    },
};

function queryOf(body: unknown): Query {
  if (typeof body !== "object" || body === null || !("query" in body) || typeof body.query !== "string") {
    throw new HeddleError("invalid", 'the body must be {"query": "…", "variables": {…}}');
  }
  const variables =
    "variables" in body && typeof body.variables === "object" && body.variables !== null ? body.variables : {};
  const named = "operationName" in body && typeof body.operationName === "string" ? body.operationName : undefined;
  return { query: body.query, variables: { ...variables }, ...(named !== undefined && { operationName: named }) };
}
