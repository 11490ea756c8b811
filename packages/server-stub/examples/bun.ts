import { toFetch } from "@heddle/server-stub/fetch";
import { server } from "./server.js";

const fetch = toFetch(server);
Bun.serve({ fetch, port: 4680 });
