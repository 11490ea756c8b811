import { toFetch } from "@heddle/server-stub/fetch";
import { server } from "./server.js";

Deno.serve({ port: 4680 }, toFetch(server));
