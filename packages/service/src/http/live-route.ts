import type { HttpResponse } from "@heddle/server-stub";
import type { OpenRoute } from "./route.js";

export const livePath = "/live";

export const alive: HttpResponse = {
  status: 200,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ status: "ok" }),
};

/** Whether the process runs, also while it waits for its stores: `/health` then says for what. */
export const liveRoute: OpenRoute = {
  id: "live",
  paths: [livePath],
  methods: ["GET"],
  access: "public",
  errors: "text",
  open: () => async () => alive,
};
